//! Reasoning schemas: the built-in ones, a project's own, answers by them, and their proposals.

use serde_json::{Value, json};

use crate::accounts::newcomer;
use crate::client::{Answer, TestApi};

const HOTFIX: &str = "/projects/shop/sgr/hotfix";
const SECRET: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
const DIFF: &str = "--- a/delay.rb\n+++ b/delay.rb\n@@ -1 +1 @@\n-hours\n+minutes\n";

fn file(yaml: &str) -> Value {
    json!({ "source": yaml })
}

/// Returns the file of a schema that extends another one by a step.
fn extension(name: &str, parent: &str, output: &str) -> Value {
    let step = format!("- {{name: Report, output: {output}, hints: ['For {{task}}']}}");
    file(&format!("schema: {name}\nextends: {parent}\nsteps:\n{step}\n"))
}

fn dialog(schema: &str, answer: &Value) -> Value {
    json!({
        "project_key": "shop", "schema": schema, "answer": answer, "outcome": "succeeded",
        "prompt_version": "7", "messages": [{"role": "user", "content": "Why is the delay nil?"}],
    })
}

/// Returns an answer by the built-in schema `bugfix`.
fn bugfix() -> Value {
    json!({
        "problem_summary": "The trigger delay of cart sessions is nil",
        "suspected_components": ["CartSessions::Setting"],
        "relevant_facts": ["None bears on it"],
        "plan_steps": ["Write a failing test", "Convert the unit"],
        "code_diff": DIFF,
        "checks": ["rspec spec/setting_spec.rb"],
        "rationale": "delay_unit was in hours, and trigger_delay_unit in minutes.",
    })
}

async fn names(api: &TestApi, query: &str) -> Vec<String> {
    let listed = api.get(&format!("/sgr{query}")).await.ok();
    let items = listed["items"].as_array().unwrap();
    let name = |item: &Value| {
        let [schema, origin] = ["schema", "origin"].map(|field| item[field].as_str().unwrap());
        format!("{schema} {origin}")
    };
    items.iter().map(name).collect()
}

const BUILT_IN: [&str; 4] =
    ["bugfix built_in", "migration built_in", "refactor built_in", "review built_in"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_adds_schemas_and_overrides_built_in_ones() {
    let api = TestApi::start().await;
    assert_eq!(names(&api, "").await, BUILT_IN);
    let created = api.put(HOTFIX, extension("hotfix", "bugfix", "report")).await;
    assert_eq!(created.status, 201);
    let hotfix = created.ok();
    let outputs: Vec<_> =
        hotfix["steps"].as_array().unwrap().iter().map(|s| &s["output"]).collect();
    assert_eq!((outputs.len(), outputs[7]), (8, &json!("report")));
    assert_eq!(hotfix["answer_schema"]["properties"]["report"]["type"], "string");
    assert_eq!((&hotfix["updated_by"], &hotfix["origin"]), (&json!("local"), &json!("project")));

    let own = api.put("/projects/shop/sgr/bugfix", extension("bugfix", "bugfix", "cost")).await;
    assert_eq!(own.status, 201);
    assert_eq!(names(&api, "?project_key=shop").await[..2], ["bugfix project", "hotfix project"]);
    let hotfix = api.get("/sgr/hotfix?project_key=shop").await.ok();
    assert_eq!(hotfix["steps"].as_array().unwrap().len(), 9, "it extends the project's bugfix");
    assert_eq!(names(&api, "").await, BUILT_IN);
    assert_eq!(api.get("/sgr/hotfix").await.fault(404), "schema");

    assert_eq!(api.delete("/projects/shop/sgr/bugfix").await.status, 204);
    let bugfix = api.get("/sgr/bugfix?project_key=shop").await.ok();
    assert_eq!(bugfix["origin"], "built_in");
    assert_eq!(api.delete("/projects/shop/sgr/bugfix").await.fault(404), "schema");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_schema_names_its_field() {
    let api = TestApi::start().await;
    let step = "steps: [{name: N, output: o}]";
    let large = format!("schema: hotfix\n{step}\n# {}", "x".repeat(10_000_000));
    for (yaml, reason) in [
        (format!("schema: hotfix\nstepz: []\n{step}"), "`steps`"),
        (format!("schema: other\n{step}"), "path"),
        (format!("schema: hotfix\nextends: hotfix\n{step}"), "does not exist"),
        ("schema: hotfix\nsteps: [{name: N, output: a, source: b}, {name: N, output: b, source: a}]"
            .to_owned(), "cycle"),
        ("schema: hotfix\nsteps: [{name: N, output: o, hints: ['{project:other}']}]".to_owned(),
            "`{project:other}`"),
        ("schema: hotfix\nsteps: [{name: N, output: o, source: memory_bundle_of_other}]".to_owned(),
            "memory_bundle"),
        ("steps: [".to_owned(), "YAML"),
    ] {
        let rejected = api.put(HOTFIX, file(&yaml)).await;
        assert_eq!(rejected.fault(400), "source", "{yaml}");
        let detail = rejected.body["detail"].as_str().unwrap();
        assert!(detail.contains(reason), "{yaml}: {detail}");
    }
    let rejected = api.put(HOTFIX, file(&large)).await;
    assert!(rejected.status.is_client_error(), "{}", rejected.status);
    assert_eq!(api.put("/projects/shop/sgr/Hot%20fix", file("x")).await.fault(400), "schema");
    assert_eq!(names(&api, "?project_key=shop").await, BUILT_IN);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schema_that_others_extend_is_not_broken() {
    let api = TestApi::start().await;
    api.put(HOTFIX, extension("hotfix", "bugfix", "report")).await.ok();
    let child = "schema: child\nextends: hotfix\nsteps: [{name: N, output: o, source: report}]";
    api.put("/projects/shop/sgr/child", file(child)).await.ok();
    let refused = api.delete(HOTFIX).await;
    assert_eq!(refused.fault(409), "schema");
    assert!(refused.body["detail"].as_str().unwrap().contains("child"), "{:?}", refused.body);
    let refused = api.put(HOTFIX, extension("hotfix", "bugfix", "renamed")).await;
    assert_eq!(refused.fault(409), "schema");
    // A cycle through both.
    let refused = api.put(HOTFIX, extension("hotfix", "child", "report")).await;
    assert!(refused.status.is_client_error(), "{}", refused.status);
    api.get("/sgr/child?project_key=shop").await.ok();
    assert_eq!(api.delete("/projects/shop/sgr/child").await.status, 204);
    assert_eq!(api.delete(HOTFIX).await.status, 204);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_changes_leave_no_schema_without_its_parent() {
    let api = TestApi::start().await;
    let (parent, child) = ("/projects/shop/sgr/aa", "/projects/shop/sgr/bb");
    for _ in 0..5 {
        api.put(parent, extension("aa", "bugfix", "more")).await.ok();
        let (set, deleted) =
            tokio::join!(api.put(child, extension("bb", "aa", "most")), api.delete(parent));
        assert!(set.status.is_success() != deleted.status.is_success(), "{set:?} {deleted:?}");
        api.delete(child).await;
        api.delete(parent).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stored_schema_that_is_unusable_affects_no_other() {
    let api = TestApi::start().await;
    api.put(HOTFIX, extension("hotfix", "bugfix", "report")).await.ok();
    api.execute("update sgr_schemas set source = 'schema: hotfix'").await;
    assert_eq!(names(&api, "?project_key=shop").await, BUILT_IN);
    assert_eq!(api.get("/sgr/hotfix?project_key=shop").await.fault(409), "schema");
    api.put("/projects/shop/sgr/own", extension("own", "review", "more")).await.ok();
    assert_eq!(api.put(HOTFIX, extension("hotfix", "bugfix", "report")).await.status, 200);
    api.execute("update sgr_schemas set source = 'schema: hotfix' where name = 'hotfix'").await;
    assert_eq!(api.delete(HOTFIX).await.status, 204);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_has_a_limited_number_of_schemas() {
    let api = TestApi::start().await;
    let path = |n: usize| format!("/projects/shop/sgr/own-{n}");
    for n in 0..20 {
        api.put(&path(n), extension(&format!("own-{n}"), "review", "more")).await.ok();
    }
    let refused = api.put(&path(20), extension("own-20", "review", "more")).await;
    assert_eq!(refused.fault(409), "schema");
    assert_eq!(api.put(&path(3), extension("own-3", "bugfix", "more")).await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_maintainers_set_schemas_and_secrets_in_them_are_masked() {
    let api = TestApi::start().await;
    let member = newcomer(&api, "ann").await;
    api.put("/projects/shop/members/ann", json!({"role": "member"})).await;
    let refused = api.with(&member).put(HOTFIX, extension("hotfix", "bugfix", "report")).await;
    assert_eq!(refused.status, 403);
    let yaml = format!("schema: hotfix\ntitle: Use {SECRET}\nsteps: [{{name: N, output: o}}]");
    let set = api.put(HOTFIX, file(&yaml)).await.ok();
    assert!(!set.to_string().contains(SECRET), "{set}");
    assert_eq!(set["title"], "Use [secret:github-token]");
    let events = api.get("/audit?project_key=shop&action=sgr_schema.set").await.ok();
    assert_eq!(events["items"].as_array().unwrap().len(), 1, "{events}");
    assert_eq!(api.with(&member).get("/sgr/hotfix?project_key=shop").await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_lacks_a_field_is_rejected_by_its_name() {
    let api = TestApi::start().await;
    let with = |field: &str, value: Value| {
        let mut answer = bugfix();
        answer[field] = value;
        dialog("bugfix", &answer)
    };
    let mut incomplete = bugfix();
    incomplete.as_object_mut().unwrap().remove("plan_steps");
    let mut without_answer = dialog("bugfix", &bugfix());
    without_answer.as_object_mut().unwrap().remove("answer");
    let mut without_schema = dialog("bugfix", &bugfix());
    without_schema.as_object_mut().unwrap().remove("schema");
    for (body, field) in [
        (dialog("bugfix", &incomplete), "answer.plan_steps"),
        (with("rationale", json!("  ")), "answer.rationale"),
        (with("checks", json!("one")), "answer.checks"),
        (with("checks", json!(["ok", 7])), "answer.checks[1]"),
        (with("code_diff", json!("no diff")), "answer.code_diff"),
        (with("extra", json!(SECRET)), "answer.extra"),
        (dialog("bugfix", &json!([1])), "answer"),
        (without_answer, "answer"),
        (without_schema, "schema"),
    ] {
        let rejected = api.post("/dialogs", body).await;
        assert_eq!(rejected.fault(400), field, "{:?}", rejected.body);
        assert!(!rejected.body.to_string().contains(SECRET), "{:?}", rejected.body);
    }
    assert_eq!(api.post("/dialogs", dialog("hotfix", &bugfix())).await.fault(404), "schema");
    assert_eq!(api.text("select count(*)::text from dialogs").await, "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_finished_answer_is_stored_by_fields_and_proposes_its_notes_once() {
    let api = TestApi::start().await;
    let mut answer = bugfix();
    answer["relevant_facts"] = json!([format!("The token is {SECRET}")]);
    let stored = api.post("/dialogs", dialog("bugfix", &answer)).await;
    assert_eq!(stored.status, 201);
    let first = stored.ok();
    assert_eq!(outcomes(&first), [("fact", "proposed"), ("fewshot", "proposed")]);
    let row =
        "select sgr_schema || ' ' || prompt_version || ' ' || (sgr_answer -> 'plan_steps' ->> 1)
        || ' ' || (sgr_answer ->> 'relevant_facts') || ' ' || (sgr_answer ->> 'rationale')
        from dialogs";
    let row = api.text(row).await;
    assert!(row.starts_with("bugfix 7 Convert the unit"), "{row}");
    assert!(row.contains("[secret:github-token]") && !row.contains(SECRET), "{row}");

    let mut again = dialog("bugfix", &answer);
    again["id"] = first["id"].clone();
    let again = api.post("/dialogs", again).await.ok();
    let ids = |response: &Value| -> Vec<Value> {
        let proposals = response["proposals"].as_array().unwrap();
        proposals.iter().map(|one| one["id"].clone()).collect()
    };
    assert_eq!(ids(&first), ids(&again), "the same proposals");
    let open = api.get("/proposals?project_key=shop").await.ok();
    let example = open["items"].as_array().unwrap().iter().find(|one| one["kind"] == "fewshot");
    let content = example.unwrap()["content"].as_str().unwrap().to_owned();
    assert!(content.contains("+minutes"), "{content}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_note_that_cannot_be_saved_leaves_its_dialog_stored() {
    let api = TestApi::start().await;
    for sql in [
        "create function refuse() returns trigger language plpgsql as
         $$ begin raise exception 'the disk is full'; end $$",
        "create trigger refuse before insert on memory_records
             for each row execute function refuse()",
    ] {
        api.execute(sql).await;
    }
    let failed = api.post("/dialogs", dialog("bugfix", &bugfix())).await;
    assert_eq!(failed.status, 201);
    let failed = failed.ok();
    assert_eq!(outcomes(&failed), [("fact", "rejected"), ("fewshot", "rejected")]);
    let reason = failed["proposals"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("send the dialog again, with its id"), "{reason}");

    api.execute("drop trigger refuse on memory_records").await;
    let mut again = dialog("bugfix", &bugfix());
    again["id"] = failed["id"].clone();
    let again = api.post("/dialogs", again).await.ok();
    assert_eq!(outcomes(&again), [("fact", "proposed"), ("fewshot", "proposed")]);
    assert_eq!(api.text("select count(*)::text from dialogs").await, "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_without_success_proposes_nothing() {
    let api = TestApi::start().await;
    for outcome in [json!("failed"), json!("abandoned"), Value::Null] {
        let mut body = dialog("bugfix", &bugfix());
        body["outcome"] = outcome;
        let stored: Answer = api.post("/dialogs", body).await;
        assert!(stored.ok().get("proposals").is_none());
    }
    assert_eq!(api.text("select count(*)::text from memory_records").await, "0");
    assert_eq!(api.text("select count(sgr_answer)::text from dialogs").await, "3");
}

fn outcomes(response: &Value) -> Vec<(&str, &str)> {
    let proposals = response["proposals"].as_array().unwrap();
    proposals
        .iter()
        .map(|one| (one["kind"].as_str().unwrap(), one["outcome"].as_str().unwrap()))
        .collect()
}
