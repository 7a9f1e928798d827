//! The system prompt of a project: who gets which version, and who may change it.

use serde_json::{Value, json};

use crate::accounts::newcomer;
use crate::client::TestApi;

const PROMPT: &str = "/prompts/shop";

fn prompt(text: &str) -> Value {
    json!({"instructions": [{"id": "own", "text": text}]})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prompt_is_set_and_taken_back_with_its_history() {
    let api = TestApi::start().await;
    let built_in = api.get(PROMPT).await.ok();
    assert_eq!((&built_in["prompt_version"], &built_in["arm"]), (&json!("0"), &Value::Null));
    let text = built_in["text"].as_str().unwrap();
    assert!(text.starts_with("- Before you change code, recall"), "{text}");
    assert_eq!(api.get("/prompts/shop/versions").await.ok()["items"], json!([]));

    let set = api.put(PROMPT, prompt("Run the tests before you finish.")).await.ok();
    assert_eq!((&set["version"], &set["state"]), (&json!(1), &json!("current")));
    assert_eq!((&set["created_by"], &set["parent_version"]), (&json!("local"), &json!(0)));
    let diff = set["diff"].as_str().unwrap();
    assert!(diff.contains("+[own] Run the tests") && diff.contains("-[recall-first]"), "{diff}");
    let served = api.get(PROMPT).await.ok();
    assert_eq!(served["text"], "- Run the tests before you finish.\n");
    assert_eq!(served["prompt_version"], "1");

    let versions = api.get("/prompts/shop/versions?limit=1").await.ok();
    assert_eq!(
        (&versions["items"][0]["version"], &versions["next_cursor"]),
        (&json!(1), &json!("1"))
    );
    let rest = api.get("/prompts/shop/versions?limit=1&cursor=1").await.ok();
    assert_eq!((&rest["items"][0]["version"], &rest["next_cursor"]), (&json!(0), &Value::Null));
    assert_eq!(api.get("/prompts/shop/versions/0").await.ok()["state"], "superseded");
    assert_eq!(api.get("/prompts/shop/versions/7").await.fault(404), "version");

    let back = api.post("/prompts/shop/rollback", json!({})).await.ok();
    assert_eq!((&back["version"], &back["state"]), (&json!(1), &json!("rolled_back")));
    assert_eq!(back["decided_by"], "local");
    assert_eq!(api.get(PROMPT).await.ok()["prompt_version"], "0");
    assert_eq!(api.post("/prompts/shop/rollback", json!({})).await.fault(409), "version");
    assert_eq!(api.post("/prompts/shop/promote", json!({})).await.fault(409), "version");
    let events = "select string_agg(action, ' ' order by seq) from audit_events
                  where action like 'prompt.%'";
    assert_eq!(api.text(events).await, "prompt.set prompt.rolled_back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_prompt_names_its_field() {
    let api = TestApi::start().await;
    let items = |id: &str, text: &str| json!([{"id": id, "text": text}]);
    for (body, field) in [
        (json!({"instructions": items("", "x")}), "instructions[0].id"),
        (json!({"instructions": items("a", "")}), "instructions[0].text"),
        (json!({"instructions": [], "example": []}), "example"),
        (json!({"instructions": items("A b", "x")}), "instructions"),
        (json!({"instructions": vec![json!({"id": "a", "text": "x"}); 101]}), "instructions"),
    ] {
        assert_eq!(api.put(PROMPT, body).await.fault(400), field);
    }
    let long: Vec<_> = (0..90)
        .map(|n| json!({"id": format!("i{n}"), "text": format!("{n} {}", "word ".repeat(300))}))
        .collect();
    let answer = api.put(PROMPT, json!({"instructions": long})).await;
    assert_eq!(answer.fault(413), "instructions");
    assert_eq!(api.get(PROMPT).await.ok()["prompt_version"], "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_read_the_prompt_and_maintainers_change_it() {
    let api = TestApi::start().await;
    let [vera, max] = [newcomer(&api, "vera").await, newcomer(&api, "max").await];
    for (login, role) in [("vera", "maintainer"), ("max", "member")] {
        let member = format!("/projects/shop/members/{login}");
        api.put(&member, json!({ "role": role })).await.ok();
    }
    assert_eq!(api.with(&max).put(PROMPT, prompt("Obey max.")).await.status, 403);
    assert_eq!(api.with(&vera).put(PROMPT, prompt("Run the tests.")).await.status, 200);
    assert_eq!(api.with(&max).get(PROMPT).await.ok()["prompt_version"], "1");
    assert_eq!(api.with(&max).get("/prompts/shop/versions").await.status, 200);
    assert_eq!(api.with(&max).post("/prompts/shop/rollback", json!({})).await.status, 403);
    assert_eq!(api.with(&max).post("/prompts/shop/promote", json!({})).await.status, 403);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn name_of_the_system_prompt_is_reserved() {
    let api = TestApi::start().await;
    let source = "schema: system_prompt\nsteps:\n- {name: Look, output: found, hints: [x]}\n";
    let answer = api.put("/projects/shop/sgr/system_prompt", json!({ "source": source })).await;
    assert_eq!(answer.fault(409), "schema");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recall_returns_the_version_of_the_caller() {
    let api = TestApi::start().await;
    let fact = "Prices of the cart are rounded once, in Cart#total.";
    api.post("/save", json!({"project_key": "shop", "kind": "fact", "content": fact})).await.ok();
    let recall = json!({"project_key": "shop", "query": "prices of the cart"});
    assert_eq!(api.post("/recall", recall.clone()).await.ok()["prompt_version"], Value::Null);
    api.put(PROMPT, prompt("Run the tests.")).await.ok();
    assert_eq!(api.post("/recall", recall).await.ok()["prompt_version"], "1");
}
