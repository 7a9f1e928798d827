//! Private records, proposals, and decisions about them.

use serde_json::{Value, json};

use crate::accounts::newcomer;
use crate::client::{As, TestApi};
use crate::quarantine::ORDER;

fn fact(content: &str) -> Value {
    json!({"project_key": "shop", "kind": "fact", "content": content})
}

fn with(mut request: Value, name: &str, value: impl Into<Value>) -> Value {
    request[name] = value.into();
    request
}

fn question(query: &str) -> Value {
    json!({"project_key": "shop", "query": query, "time_budget_ms": 20000})
}

fn id(saved: &Value) -> &str {
    saved["id"].as_str().unwrap_or_else(|| panic!("{saved}"))
}

/// Creates a member of the project.
async fn member(api: &TestApi, login: &str) -> String {
    let token = newcomer(api, login).await;
    api.put(&format!("/projects/shop/members/{login}"), json!({"role": "member"})).await.ok();
    token
}

/// Creates an agent of the project.
pub async fn agent(api: &TestApi) -> String {
    api.post("/users", json!({"login": "bot", "is_agent": true})).await.ok();
    api.put("/projects/shop/members/bot", json!({"role": "agent"})).await.ok();
    let entry =
        json!({"name": "b", "scopes": ["memory:read", "memory:write"], "agent_login": "bot"});
    api.post("/tokens", entry).await.ok()["token"].as_str().unwrap().to_owned()
}

async fn recalls(caller: &As<'_>, query: &str, text: &str) -> bool {
    caller.post("/recall", question(query)).await.ok().to_string().contains(text)
}

async fn finds(caller: &As<'_>, query: &str, text: &str) -> bool {
    caller.post("/search", question(query)).await.ok().to_string().contains(text)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_private_record_is_visible_to_its_owner_until_shared() {
    let api = TestApi::start().await;
    let (ann, bob) = (member(&api, "ann").await, member(&api, "bob").await);
    let (ann, bob) = (api.with(&ann), api.with(&bob));
    let text = "The staging warehouse resets its stock counters every Thursday at noon.";
    let note = with(fact(text), "visibility", "private");
    let saved = ann.post("/save", note).await.ok();
    assert_eq!(
        (&saved["outcome"], &saved["record"]["visibility"]),
        (&json!("created"), &json!("private"))
    );
    let (query, path) =
        ("when does the warehouse reset stock counters", format!("/records/{}", id(&saved)));
    assert!(recalls(&ann, query, "Thursday").await);
    assert!(finds(&ann, query, "Thursday").await);
    for other in [&bob, &api.with(crate::client::SECRET)] {
        assert!(!recalls(other, query, "Thursday").await);
        assert!(!finds(other, query, "Thursday").await);
        assert_eq!(other.get(&path).await.fault(404), "id");
        assert_eq!(other.delete(&path).await.fault(404), "id");
        let all = other.get("/records?project_key=shop").await.ok();
        assert_eq!(all["items"], json!([]));
    }
    // The same text of another user is another record.
    let own = bob.post("/save", fact(text)).await.ok();
    assert_eq!(own["outcome"], "created");
    bob.delete(&format!("/records/{}", id(&own))).await.ok();

    assert_eq!(bob.post(&format!("{path}/share"), json!({})).await.fault(404), "id");
    let shared = ann.post(&format!("{path}/share"), json!({})).await.ok();
    assert_eq!(shared["visibility"], "team");
    assert!(recalls(&bob, query, "Thursday").await);
    assert_eq!(ann.post(&format!("{path}/share"), json!({})).await.fault(409), "id");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_deletes_a_private_record_with_any_role() {
    let api = TestApi::start().await;
    let (ann, bot) = (member(&api, "ann").await, agent(&api).await);
    let ours = api.post("/save", fact("Refunds above 500 euros need two approvals.")).await.ok();
    let ours = format!("/records/{}", id(&ours));
    let strict = json!({"min_roles": {"save": "maintainer", "review": "maintainer"}});
    api.put_if("/projects/shop/policy", "*", strict).await.ok();
    let note = fact("The staging warehouse resets its stock counters every Thursday at noon.");
    let note = with(note, "visibility", "private");
    let query = "when does the warehouse reset stock counters";
    for (caller, other) in [(&ann, &bot), (&bot, &ann)] {
        let (caller, other) = (api.with(caller), api.with(other));
        let saved = caller.post("/save", note.clone()).await.ok();
        let path = format!("/records/{}", id(&saved));
        for another in [&other, &api.with(crate::client::SECRET)] {
            assert_eq!(another.delete(&path).await.fault(404), "id");
        }
        assert!(finds(&caller, query, "Thursday").await);
        assert_eq!(caller.delete(&path).await.status, 204);
        assert!(!finds(&caller, query, "Thursday").await);
        assert_eq!(caller.get(&path).await.ok()["state"], "deleted");
        assert_eq!(caller.delete(&path).await.fault(404), "id", "it is out already");
        assert_eq!(caller.delete(&ours).await.status, 403);
        // A proposal is for reviewers to decide, or for its author to withdraw.
        let saved = caller.post("/save", note.clone()).await.ok();
        let path = format!("/records/{}", id(&saved));
        caller.post(&format!("{path}/share"), json!({})).await.ok();
        assert_eq!(other.delete(&path).await.status, 403);
        assert_eq!(caller.delete(&path).await.status, 204);
        assert_eq!(caller.get(&path).await.ok()["state"], "deleted");
    }
    assert_eq!(api.get(&ours).await.ok()["state"], "active");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_private_record_stays_private_when_saved_again() {
    let api = TestApi::start().await;
    let (ann, bob) = (member(&api, "ann").await, member(&api, "bob").await);
    let (ann, bob) = (api.with(&ann), api.with(&bob));
    let note = fact("The staging warehouse resets its stock counters every Thursday at noon.");
    let note = with(note, "visibility", "private");
    ann.post("/save", note.clone()).await.ok();
    api.execute("update memory_records set ttl = now() - interval '1 day'").await;
    assert_eq!(mc_store::cleanup::sweep(api.background()).await.unwrap().expired, 1);
    assert_eq!(ann.post("/save", note).await.ok()["outcome"], "merged");
    let query = "when does the warehouse reset stock counters";
    assert!(recalls(&ann, query, "Thursday").await);
    assert!(!recalls(&bob, query, "Thursday").await);
    assert!(!finds(&bob, query, "Thursday").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_record_of_another_user_looks_missing() {
    let api = TestApi::start().await;
    let (ann, bot) = (member(&api, "ann").await, agent(&api).await);
    let note = with(fact("The staging database is called Otto."), "visibility", "private");
    let saved = api.with(&ann).post("/save", note).await.ok();
    let missing = "01a1ffec-7038-7310-a18a-ba237ffc9a8b";
    for caller in [api.with(&bot), api.with(crate::client::SECRET)] {
        for action in ["confirm", "rollback", "share"] {
            let [one, other] = [id(&saved), missing].map(|id| format!("/records/{id}/{action}"));
            let theirs = caller.post(&one, json!({"version": 1})).await;
            let nothing = caller.post(&other, json!({"version": 1})).await;
            assert_eq!((theirs.fault(404), nothing.fault(404)), ("id", "id"), "{action}");
            let told = theirs.body["detail"].as_str().unwrap().replace(id(&saved), missing);
            assert_eq!(told, nothing.body["detail"]);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forget_does_not_reveal_other_users() {
    let api = TestApi::start().await;
    newcomer(&api, "stranger").await;
    let forget = |login: &str| json!({"project_key": "shop", "saved_by": login, "dry_run": true});
    let [one, other] = [forget("stranger"), forget("nobody")];
    assert_eq!(api.post("/forget", one).await.ok(), api.post("/forget", other).await.ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partly_erased_proposal_is_still_not_recalled() {
    let api = TestApi::start().await;
    let bot = agent(&api).await;
    let bot = api.with(&bot);
    let text = "Orders are exported to the warehouse every night by the job ExportOrders, which \
                retries three times.";
    let reordered = "Every night orders are exported to the warehouse by the job ExportOrders, \
        which \
                     retries three times.";
    let from = |text, page: &str| {
        let page = format!("https://wiki.example.org/{page}");
        with(with(fact(text), "visibility", "private"), "source", page)
    };
    let saved = bot.post("/save", from(text, "1")).await.ok();
    assert_eq!(bot.post("/save", from(reordered, "2")).await.ok()["outcome"], "merged");
    let path = format!("/records/{}/share", id(&saved));
    assert_eq!(bot.post(&path, json!({})).await.ok()["visibility"], "proposed");
    let forget = json!({"project_key": "shop", "source": "https://wiki.example.org/2"});
    let forgotten = api.post("/forget", forget).await.ok();
    assert_eq!(forgotten["deleted"], json!([saved["id"]]), "what it said before was not shared");
    let query = "when are orders exported to the warehouse";
    assert!(!finds(&api.with(crate::client::SECRET), query, "ExportOrders").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agents_save_is_recalled_after_a_person_accepts_it() {
    let api = TestApi::start().await;
    let (bot, ann) = (agent(&api).await, member(&api, "ann").await);
    let (bot, ann) = (api.with(&bot), api.with(&ann));
    let note = fact("The invoice numbering restarts on the first of January in Spain.");
    let saved = bot.post("/save", note.clone()).await.ok();
    assert_eq!(
        (&saved["outcome"], &saved["record"]["trust"]),
        (&json!("proposed"), &json!("untrusted"))
    );
    let query = "when does invoice numbering restart in Spain";
    assert!(!recalls(&ann, query, "January").await);
    assert!(!finds(&ann, query, "January").await);
    assert_eq!(bot.post("/save", note).await.ok()["id"], saved["id"], "proposed once");

    let accept = format!("/proposals/{}/accept", id(&saved));
    for decision in ["accept", "reject"] {
        let body =
            if decision == "reject" { json!({"reason": "no"}) } else { json!({"version": 1}) };
        let path = format!("/proposals/{}/{decision}", id(&saved));
        assert_eq!(bot.post(&path, body).await.status, 403);
    }
    let confirm = format!("/records/{}/confirm", id(&saved));
    assert_eq!(bot.post(&confirm, json!({"version": 1})).await.status, 403);
    let waiting = ann.get("/proposals?project_key=shop").await.ok();
    assert_eq!(waiting["items"][0]["id"], saved["id"]);
    assert_eq!(waiting["items"][0]["contributions"][0]["saved_by"], "bot");
    assert_eq!(ann.post(&accept, json!({})).await.fault(400), "version");
    assert_eq!(ann.post(&accept, json!({"version": 2})).await.fault(409), "version");
    let accepted = ann.post(&accept, json!({"version": 1})).await.ok();
    assert_eq!(
        (&accepted["visibility"], &accepted["trust"]),
        (&json!("team"), &json!("confirmed"))
    );
    assert!(recalls(&ann, query, "January").await);
    assert_eq!(ann.post(&accept, json!({"version": 1})).await.fault(409), "id");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proposal_for_a_known_record_shows_a_diff() {
    let api = TestApi::start().await;
    let bot = agent(&api).await;
    let bot = api.with(&bot);
    let known = "Orders are exported to the warehouse every night by the job ExportOrders, which \
                 retries three times.";
    let record = api.post("/save", fact(known)).await.ok();
    assert_eq!(bot.post("/save", fact(known)).await.ok()["outcome"], "duplicate");
    let reordered = "Every night orders are exported to the warehouse by the job ExportOrders, \
        which \
                     retries three times.";
    let proposal = json!({"project_key": "shop", "kind": "fact", "content": reordered,
                          "tags": ["nightly"],
                          "citations": [{"file": "app/jobs/export_orders.rb"}]});
    let proposed = bot.post("/save", proposal).await.ok();
    assert_eq!(proposed["outcome"], "proposed");
    let path = format!("/records/{}", id(&record));
    assert_eq!(api.get(&path).await.ok()["content"], known, "nothing has changed");

    let waiting = api.get("/proposals?project_key=shop").await.ok();
    let proposal = &waiting["items"][0];
    assert_eq!(proposal["amends"]["id"], record["id"]);
    let diff = proposal["diff"].as_str().unwrap();
    for line in ["+tags: nightly", "+cites: app/jobs/export_orders.rb (unchecked)"] {
        assert!(diff.contains(line), "{line}: {diff}");
    }
    assert!(diff.contains("-Orders are exported") && diff.contains("+Every night"), "{diff}");
    let accept = format!("/proposals/{}/accept", id(&proposed));
    // The record that it would change has changed since the review.
    let saved = api.post(
        "/save",
        json!({"project_key": "shop", "kind": "fact", "content": known,
                                         "tags": ["export"]}),
    );
    assert_eq!(saved.await.ok()["outcome"], "merged");
    for seen in [json!({"version": 1, "amends_version": 1}), json!({"version": 1})] {
        assert_eq!(api.post(&accept, seen).await.fault(409), "amends_version");
    }
    let waiting = api.get("/proposals?project_key=shop").await.ok();
    let seen = waiting["items"][0]["amends"]["version"].as_i64().unwrap();
    let edit = json!({"version": 1, "amends_version": seen,
                      "content": format!("{reordered} Sundays excepted.")});
    let accepted = api.post(&accept, edit).await.ok();
    assert_eq!(accepted["id"], record["id"]);
    assert!(accepted["content"].as_str().unwrap().ends_with("Sundays excepted."));
    let cited = api.get(&path).await.ok()["citations"].clone();
    assert_eq!(cited[0]["file"], "app/jobs/export_orders.rb", "{cited}");
    assert_eq!(accepted["trust"], "confirmed");
    assert_eq!(api.get("/proposals?project_key=shop").await.ok()["items"], json!([]));

    let back = api.post(&format!("{path}/rollback"), json!({})).await.ok();
    assert_eq!(back["content"], known);
    let history = api.get(&path).await.ok();
    assert_eq!(history["versions"].as_array().unwrap().len(), 3);
    assert_eq!(
        api.post(&format!("{path}/rollback"), json!({"version": 9})).await.fault(409),
        "version"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rejected_proposal_stays_rejected() {
    let api = TestApi::start().await;
    let bot = agent(&api).await;
    let saved = api.with(&bot).post("/save", fact("Prices are rounded half to even.")).await.ok();
    let reject = format!("/proposals/{}/reject", id(&saved));
    assert_eq!(api.post(&reject, json!({})).await.fault(400), "reason");
    api.post(&reject, json!({"reason": "we round half up"})).await.ok();
    assert_eq!(api.post(&reject, json!({"reason": "again"})).await.fault(409), "id");
    assert_eq!(api.get(&format!("/records/{}", id(&saved))).await.ok()["state"], "deleted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_record_can_be_restored() {
    let api = TestApi::start().await;
    let saved = api.post("/save", fact("The cart expires after 45 minutes of silence.")).await.ok();
    let path = format!("/records/{}", id(&saved));
    assert_eq!(api.post(&format!("{path}/rollback"), json!({})).await.fault(409), "id");
    api.delete(&path).await.ok();
    let back = api.post(&format!("{path}/rollback"), json!({})).await.ok();
    assert_eq!(back["state"], "active");
    assert!(
        recalls(&api.with(crate::client::SECRET), "when does the cart expire", "45 minutes").await
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn confirmation_is_valid_until_the_text_changes() {
    let api = TestApi::start().await;
    let text = "The search index is rebuilt by the task search:rebuild, which takes nine minutes.";
    let saved = api.post("/save", fact(text)).await.ok();
    let path = format!("/records/{}", id(&saved));
    let confirm = format!("{path}/confirm");
    assert_eq!(api.post(&confirm, json!({"version": 2})).await.fault(409), "version");
    let confirmed = api.post(&confirm, json!({"version": 1})).await.ok();
    assert_eq!(confirmed["trust"], "confirmed");
    api.post("/save", fact(text)).await.ok();
    assert_eq!(api.get(&path).await.ok()["trust"], "confirmed", "the same was said again");
    let reordered =
        "By the task search:rebuild the search index is rebuilt, which takes nine minutes.";
    assert_eq!(api.post("/save", fact(reordered)).await.ok()["outcome"], "merged");
    assert_eq!(api.get(&path).await.ok()["trust"], "team");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agents_dialog_is_not_recalled_and_replaces_no_other() {
    let api = TestApi::start().await;
    let (bot, ann) = (agent(&api).await, member(&api, "ann").await);
    let (bot, ann) = (api.with(&bot), api.with(&ann));
    let dialog = |distilled: &str| {
        json!({"project_key": "shop", "distilled": distilled,
               "messages": [{"role": "user", "content": "How are vouchers rounded in the shop?"}]})
    };
    bot.post("/dialogs", dialog("Vouchers are rounded down to ten cents in Norway.")).await.ok();
    let query = "how are vouchers rounded in Norway";
    assert!(!recalls(&ann, query, "ten cents").await);
    assert!(!finds(&ann, query, "ten cents").await);

    let hers =
        ann.post("/dialogs", dialog("Vouchers are rounded up to five cents in Norway.")).await.ok();
    assert!(finds(&ann, query, "five cents").await);
    let over = with(dialog("Vouchers are never rounded."), "id", hers["id"].clone());
    assert_eq!(bot.post("/dialogs", over).await.fault(404), "id");
    assert!(finds(&ann, query, "five cents").await);
    let link = json!({"project_key": "shop", "task_external_id": "T-1",
        "record_ids": [uuid::Uuid::nil()]});
    assert_eq!(bot.post("/tasks/link", link).await.fault(403), "record_ids");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_maintainers_move_dialogs_of_others() {
    let api = TestApi::start().await;
    let (bot, ann) = (agent(&api).await, member(&api, "ann").await);
    let (bot, ann) = (api.with(&bot), api.with(&ann));
    let talk = json!({"project_key": "shop", "task_external_id": "T-1",
                      "messages": [{"role": "user", "content": "How are vouchers rounded?"}]});
    let hers = ann.post("/dialogs", talk.clone()).await.ok()["id"].clone();
    let its = bot.post("/dialogs", talk).await.ok()["id"].clone();
    let link = |task: &str, dialog: &Value| {
        json!({"project_key": "shop", "task_external_id": task,
        "dialog_id": dialog})
    };
    assert_eq!(bot.post("/tasks/link", link("T-2", &hers)).await.fault(404), "dialog_id");
    assert_eq!(ann.post("/tasks/link", link("T-2", &its)).await.fault(404), "dialog_id");
    let first = api.get("/tasks/T-1?project_key=shop").await.ok();
    assert_eq!(first["dialog_ids"], json!([hers, its]), "both are where they were");
    assert_eq!(api.get("/tasks/T-2?project_key=shop").await.status, 404);

    assert_eq!(bot.post("/tasks/link", link("T-2", &its)).await.ok()["dialog_id"], its);
    assert_eq!(api.post("/tasks/link", link("T-2", &hers)).await.ok()["dialog_id"], hers);
    let second = api.get("/tasks/T-2?project_key=shop").await.ok();
    assert_eq!(second["dialog_ids"], json!([hers, its]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sharing_a_record_shares_no_earlier_version() {
    let api = TestApi::start().await;
    let ann = member(&api, "ann").await;
    let ann = api.with(&ann);
    let first = "The vendor Acme charges the shop 12 percent for refunds by the nightly job.";
    let note = with(with(fact(first), "visibility", "private"), "trust", "untrusted");
    let saved = ann.post("/save", note).await.ok();
    let path = format!("/records/{}", id(&saved));
    let second = "By the nightly job the vendor Acme charges the shop 12 percent for refunds.";
    let again = with(with(fact(second), "visibility", "private"), "trust", "untrusted");
    assert_eq!(ann.post("/save", again).await.ok()["outcome"], "merged");
    assert_eq!(ann.get(&path).await.ok()["versions"].as_array().unwrap().len(), 1);
    ann.post(&format!("{path}/share"), json!({})).await.ok();
    let shown = api.get(&path).await.ok();
    assert_eq!((&shown["versions"], &shown["trust"]), (&json!([]), &json!("untrusted")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trust_is_limited_by_the_role() {
    let api = TestApi::start().await;
    let asked = with(fact("Imports run at two in the morning."), "trust", "confirmed");
    assert_eq!(api.post("/save", asked).await.ok()["record"]["trust"], "team");
    let less = with(fact("The vendor page names port 8443 for its API."), "trust", "untrusted");
    let saved = api.post("/save", with(less, "kind", "rule")).await.ok();
    assert_eq!(saved["record"]["trust"], "untrusted");
    let recalled = api.post("/recall", question("which port does the vendor page name")).await.ok();
    assert!(!recalled.to_string().contains("8443"), "no rule that nobody vouches for: {recalled}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_is_erased_with_its_index() {
    let api = TestApi::start().await;
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().to_str().unwrap();
    let ingest = json!({"project_key": "shop", "location": location, "name": "shop"});
    let run = api.post("/ingest/git", ingest).await.ok();
    api.execute(
        "with file as (
             insert into files (id, repository_id, project_id, path, content_hash, size_bytes, \
             language,
                                line_count, chunker_version)
             select gen_random_uuid(), id, project_id, 'a.md', sha256('a'), 1, 'markdown', 1, 1
             from repositories returning id, project_id),
         doc as (
             insert into docs (id, project_id, file_id, source, doc_id, title, url, content)
             select gen_random_uuid(), project_id, id, 'repo:local/shop', 'a.md', 'A', '', 'text'
             from file returning id, project_id)
         insert into passages (id, project_id, doc_id, title, location, symbols, tags, text, \
         content_hash)
         select gen_random_uuid(), project_id, id, 'A', 'a.md', '{}', '{}', 'text', sha256('text')
         from doc",
    )
    .await;
    let forget = json!({"project_key": "shop", "source": run["namespace"]});
    assert_eq!(api.post("/forget", forget).await.ok()["files"], 1);
    let left =
        "select concat_ws(' ', (select count(*) from repositories), (select count(*) from files),
                    (select count(*) from docs), (select count(*) from passages))";
    assert_eq!(api.text(left).await, "0 0 0 0");
    let path = format!("/ingest/runs/{}", run["ingest_id"].as_str().unwrap());
    assert_eq!(api.get(&path).await.status, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn erasing_two_users_leaves_nothing_in_the_history() {
    let api = TestApi::start().await;
    let (eve, bob) = (member(&api, "eve").await, member(&api, "bob").await);
    let (eve, bob) = (api.with(&eve), api.with(&bob));
    let ours = "Refunds are booked by the nightly job RefundBooker in the ledger of the month.";
    let record = api.post("/save", fact(ours)).await.ok();
    let hers = "By the nightly job RefundBooker refunds are booked in the ledger of the month.";
    assert_eq!(eve.post("/save", fact(hers)).await.ok()["outcome"], "merged");
    let his = "In the ledger of the month refunds are booked by the nightly job RefundBooker.";
    assert_eq!(bob.post("/save", fact(his)).await.ok()["outcome"], "merged");

    let path = format!("/records/{}", id(&record));
    let forget = |login: &str| json!({"project_key": "shop", "saved_by": login});
    api.post("/forget", forget("bob")).await.ok();
    assert_eq!(api.get(&path).await.ok()["content"], hers);
    api.post("/forget", forget("eve")).await.ok();
    let left = api.get(&path).await.ok();
    assert_eq!(left["content"], ours, "{left}");
    let all = left.to_string();
    assert!(
        !all.contains("By the nightly") && !all.contains("In the ledger of the month r"),
        "{all}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn erasing_a_user_restores_superseded_and_deletes_held_texts() {
    let api = TestApi::start().await;
    let (eve, mia) = (member(&api, "eve").await, newcomer(&api, "mia").await);
    api.put("/projects/shop/members/mia", json!({"role": "maintainer"})).await.ok();
    let (eve, mia) = (api.with(&eve), api.with(&mia));
    let ours = api.post("/save", fact("The nightly export of orders runs at 2:00.")).await.ok();
    let hers = fact("The nightly export of orders runs at 4:30.");
    let hers = eve.post("/save", with(hers, "supersedes", ours["id"].clone())).await.ok();
    assert_eq!(hers["outcome"], "superseded", "{hers}");
    let order = format!("The export is down on Sundays. {ORDER}");
    for sender in [&eve, &mia] {
        assert_eq!(sender.post("/save", fact(&order)).await.ok()["outcome"], "quarantined");
    }
    let quarantined = async || {
        let page = mia.get("/quarantine?project_key=shop&state=pending").await.ok();
        page["items"].as_array().unwrap().clone()
    };
    let forget = |dry_run: bool| {
        let request = json!({"project_key": "shop", "saved_by": "eve", "dry_run": dry_run});
        mia.post("/forget", request)
    };

    let would = forget(true).await.ok();
    assert_eq!(would["deleted"], json!([hers["id"]]));
    assert_eq!((&would["restored"], &would["quarantine_items"]), (&json!([ours["id"]]), &json!(1)));
    let both = quarantined().await;
    assert_eq!((both.len(), &both[1]["submitted_by"]), (2, &json!("eve")), "nothing has happened");
    let of_eve = format!("/quarantine/{}", both[1]["id"].as_str().unwrap());

    assert_eq!(forget(false).await.ok(), with(would.clone(), "dry_run", false));
    let left = quarantined().await;
    assert_eq!((left.len(), &left[0]["submitted_by"]), (1, &json!("mia")));
    let gone = mia.get(&of_eve).await.ok();
    assert_eq!((&gone["state"], &gone["decided_by"]), (&json!("deleted"), &json!("mia")));
    assert!(!gone.to_string().contains("Sundays"), "{gone}");
    assert_eq!(mia.post(&format!("{of_eve}/release"), json!({})).await.fault(409), "id");
    let back = mia.get(&format!("/records/{}", id(&ours))).await.ok();
    assert_eq!((&back["state"], &back["superseded_by"]), (&json!("active"), &Value::Null));
    assert!(recalls(&mia, "when does the nightly export of orders run", "2:00").await);
    let told = mia.get("/audit?project_key=shop&action=records.erased").await.ok();
    let told = &told["items"][0]["details"];
    assert_eq!(
        (&told["restored"], &told["quarantine_items"]),
        (&would["restored"], &would["quarantine_items"])
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_shows_the_text_that_a_rollback_restores() {
    let api = TestApi::start().await;
    let text = "The search index is rebuilt by the task search:rebuild, which takes nine minutes.";
    let first = json!({"project_key": "shop", "kind": "fact", "content": text, "owner": "search",
                       "ttl": "2030-06-01", "trust": "untrusted", "meta": {"patch_sha": "5d41402"},
                       "citations": [{"file": "lib/tasks/search.rake", "line_start": 3,
                       "line_end": 9}]});
    let saved = api.post("/save", first).await.ok();
    let second = json!({"project_key": "shop", "kind": "rule", "content": text, "owner": "platform",
                        "ttl": "2031-06-01", "citations": [{"file": "lib/search.rb"}]});
    assert_eq!(api.post("/save", second).await.ok()["outcome"], "merged");

    let path = format!("/records/{}", id(&saved));
    let version = api.get(&path).await.ok()["versions"][0].clone();
    let shown =
        ["version", "kind", "owner", "ttl", "is_ttl_explicit", "trust", "meta", "citations"];
    let shown = json!(shown.map(|field| &version[field]));
    let cited = json!([{"file": "lib/tasks/search.rake", "line_start": 3, "line_end": 9,
                        "verdict": "unchecked"}]);
    let ends = "2030-06-02T00:00:00Z";
    let meta = json!({"patch_sha": "5d41402"});
    assert_eq!(shown, json!([1, "fact", "search", ends, true, "untrusted", meta, cited]));

    let back = api.post(&format!("{path}/rollback"), json!({"version": 1})).await.ok();
    for field in ["kind", "owner", "ttl", "is_ttl_explicit", "trust", "meta"] {
        assert_eq!(back[field], version[field], "{field}");
    }
    assert_eq!(api.get(&path).await.ok()["citations"], cited);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_or_a_source_is_erased_in_one_step() {
    let api = TestApi::start().await;
    let eve = member(&api, "eve").await;
    let eve = api.with(&eve);
    let page = "https://wiki.example.org/queues";
    let hers =
        eve.post("/save", fact("The mail queue is drained by the worker mailer-2.")).await.ok();
    let shared = "Refunds are booked by the nightly job RefundBooker in the ledger of the month.";
    let ours = api.post("/save", fact(shared)).await.ok();
    let reordered =
        "By the nightly job RefundBooker refunds are booked in the ledger of the month.";
    assert_eq!(eve.post("/save", fact(reordered)).await.ok()["outcome"], "merged");
    let imported = with(fact("Queues are named after the team that reads them."), "source", page);
    let imported = api.post("/save", imported).await.ok();
    eve.post(
        "/dialogs",
        json!({"project_key": "shop", "messages": [
        {"role": "user", "content": "Where are refunds booked, and by which job?"}]}),
    )
    .await
    .ok();

    let by_eve = api.get("/records?project_key=shop&saved_by=eve").await.ok();
    assert_eq!(by_eve["items"].as_array().unwrap().len(), 2);
    let from_page = api.get(&format!("/records?project_key=shop&source={page}")).await.ok();
    assert_eq!(from_page["items"][0]["id"], imported["id"]);

    let request = json!({"project_key": "shop", "saved_by": "eve", "dry_run": true});
    let would = api.post("/forget", request.clone()).await.ok();
    assert_eq!(
        (&would["deleted"], &would["rolled_back"]),
        (&json!([hers["id"]]), &json!([ours["id"]]))
    );
    assert_eq!(would["dialogs"], 1);
    assert_eq!(api.get(&format!("/records/{}", id(&hers))).await.ok()["state"], "active");
    assert_eq!(eve.post("/forget", request).await.status, 403);

    api.post("/forget", json!({"project_key": "shop", "saved_by": "eve"})).await.ok();
    assert_eq!(api.get(&format!("/records/{}", id(&hers))).await.fault(404), "id");
    let left = api.get(&format!("/records/{}", id(&ours))).await.ok();
    assert_eq!((&left["content"], &left["trust"]), (&json!(shared), &json!("team")));
    assert!(!left.to_string().contains("By the nightly"), "nothing of hers is left: {left}");
    // A reviewer confirms the version that she has read, and no other.
    let confirm = format!("/records/{}/confirm", id(&ours));
    assert_eq!(api.post(&confirm, json!({"version": 2})).await.fault(409), "version");
    api.post(&confirm, json!({"version": left["version"]})).await.ok();
    let forgotten = api.post("/forget", json!({"project_key": "shop", "source": page})).await.ok();
    assert_eq!(forgotten["deleted"], json!([imported["id"]]));
    let both = json!({"project_key": "shop", "source": page, "saved_by": "eve"});
    assert_eq!(api.post("/forget", both).await.fault(400), "saved_by");
}
