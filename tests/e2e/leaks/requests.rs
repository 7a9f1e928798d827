//! Canaries in every text field of every request.

use reqwest::Method;
use serde_json::{Map, Value, json};

use super::canaries::{Form, Kind};
use super::world::{HOLDING, PROJECT, World};

/// Maximum characters of words, names, titles and texts of a request.
pub const WORD: usize = 120;
const TITLE: usize = 300;

/// Saves records with every kind of canary in every field.
pub async fn save(world: &mut World) {
    for kind in Kind::ALL {
        let mut record = json!({
            "project_key": PROJECT, "kind": "fewshot",
            "content": content(world, "content of a save", kind),
            "title": world.line("title of a save", kind, TITLE),
            "owner": world.line("owner of a save", kind, WORD),
            "patch_ref": world.word("patch of a save", kind, WORD),
            "url": url(world, "url of a save", kind),
        });
        record["scope"] = list(world.word("scope of a save", kind, WORD));
        record["tags"] = list(world.word("tag of a save", kind, WORD));
        record["steps"] = json!([
            world.generator.text("step of a save", kind, Form::Plain),
            world.generator.text("step of a save", kind, Form::Ruby),
        ]);
        record["meta"] = Value::Object(meta(world, kind));
        record["citations"] = json!([{
            "file": file(world, "file cited by a save", kind),
            "symbol": world.word("symbol cited by a save", kind, WORD),
        }]);
        world.post("/save", &without_nulls(record)).await;
    }
    for kind in Kind::WORDS {
        let task = world.word("task of a save", kind, WORD);
        let record = json!({ "project_key": PROJECT, "kind": "fact", "task_external_id": task,
            "content": format!("The carts are emptied at night, says {kind:?}.") });
        world.send(Method::POST, "/save", &record).await;
    }
    let proposed = content(world, "content of a proposal", Kind::GithubToken);
    let proposal = json!({ "project_key": PROJECT, "kind": "gotcha", "visibility": "proposed",
        "content": format!("Carts are said to be frozen on Sundays.\n{proposed}") });
    let proposed = world.post("/save", &proposal).await;
    assert_eq!(proposed["outcome"], "proposed", "{proposed}");
}

/// Returns a canary in all its forms, with a sentence that makes each record unique.
fn content(world: &mut World, place: &str, kind: Kind) -> String {
    let mut text = format!("What the shop knows of {kind:?}: orders stay open for a while.\n");
    for form in forms(kind) {
        text.push_str(&world.generator.text(place, kind, form));
        text.push('\n');
    }
    text
}

fn forms(kind: Kind) -> impl Iterator<Item = Form> {
    Form::ALL.into_iter().filter(move |form| *form != Form::Split || !kind.is_personal())
}

fn url(world: &mut World, place: &str, kind: Kind) -> String {
    let text = world.generator.text(place, kind, Form::Url);
    text.lines().last().unwrap_or_default().to_owned()
}

fn file(world: &mut World, place: &str, kind: Kind) -> String {
    // An address followed by another word is another address, and a URL is not a path.
    let fits = matches!(kind, Kind::GithubToken | Kind::Mail);
    let canary = fits.then(|| world.word(place, kind, TITLE)).flatten();
    format!("config/{}", canary.unwrap_or_else(|| "none".to_owned()))
}

fn meta(world: &mut World, kind: Kind) -> Map<String, Value> {
    let mut meta = Map::new();
    let json = world.generator.text("JSON in meta", kind, Form::Json);
    let deep = world.generator.text("depth of meta", kind, Form::Plain);
    meta.insert("note".to_owned(), json!([{ "deeper": { "still": deep } }, json]));
    if let Some(key) = world.word("key of meta", kind, WORD) {
        meta.insert(key, json!({ "x": 1 }));
    }
    let value = world.generator.word("value in meta", Kind::Password);
    meta.insert("password".to_owned(), json!(value));
    if let Some(number) = world.word("number in meta", Kind::Card, WORD) {
        meta.insert("card".to_owned(), json!(number.parse::<u64>().expect("digits")));
    }
    meta
}

fn list(item: Option<String>) -> Value {
    item.into_iter().collect()
}

fn without_nulls(mut value: Value) -> Value {
    if let Value::Object(object) = &mut value {
        object.retain(|_, value| !value.is_null());
        let values = object.values_mut();
        values.for_each(|value| *value = without_nulls(value.take()));
    } else if let Value::Array(items) = &mut value {
        for value in items.iter_mut() {
            *value = without_nulls(value.take());
        }
    }
    value
}

/// Sends dialogs, documents and tasks.
pub async fn write(world: &mut World) {
    let all = world.generator.everything("message of a dialog");
    let answer = world.generator.everything("answer in a dialog");
    let dialog = json!({ "project_key": PROJECT,
        "developer": world.word("developer", Kind::Mail, WORD),
        "messages": [{ "role": "user", "content": all },
                     { "role": "assistant", "content": answer }] });
    world.post("/dialogs", &without_nulls(dialog)).await;
    let distilled = world.generator.everything("what a dialog comes to");
    let dialog = json!({ "project_key": PROJECT,
        "messages": [{ "role": "user", "content": "Why?" }],
        "distilled": distilled.chars().take(4_000).collect::<String>() });
    world.send(Method::POST, "/dialogs", &dialog).await;

    for kind in Kind::ALL {
        let documents = documents(world, kind);
        world.post("/ingest/docs", &documents).await;
        let tasks = tasks(world, kind);
        world.post("/tasks/sync", &tasks).await;
    }
    let all = world.generator.everything("content of a document");
    let document = json!({ "doc_id": "all", "title": "All", "content": all });
    let documents = json!({ "project_key": PROJECT, "source": "wiki", "documents": [document] });
    world.post("/ingest/docs", &documents).await;
    named(world).await;
}

fn documents(world: &mut World, kind: Kind) -> Value {
    let messages = json!([
        { "author": world.line("author of a message", kind, WORD),
          "text": content(world, "message of a thread", kind) },
        { "author": "vera", "text": world.generator.text("second message", kind, Form::Plain) },
    ]);
    let front = world.word("tag in front matter", kind, WORD).unwrap_or_default();
    let text = format!(
        "---\ntags: [\"{front}\"]\n---\n# Of {kind:?}\n\n{}",
        content(world, "text of a document", kind)
    );
    let documents = json!([
        { "doc_id": format!("{kind:?}"), "content": text,
          "title": world.line("title of a document", kind, TITLE).unwrap_or("None".to_owned()),
          "url": url(world, "url of a document", kind),
          "scope": list(world.word("scope of a document", kind, WORD)),
          "tags": list(world.word("tag of a document", kind, WORD)) },
        { "doc_id": format!("{kind:?} talk"), "title": "Talk", "messages": messages },
    ]);
    let documents = json!({ "project_key": PROJECT, "source": "wiki", "documents": documents });
    without_nulls(documents)
}

fn tasks(world: &mut World, kind: Kind) -> Value {
    let task = json!({
        "external_id": format!("CS-{kind:?}"),
        "title": world.line("title of a task", kind, TITLE).unwrap_or("None".to_owned()),
        "status": world.line("status of a task", kind, WORD),
        "assignee": world.line("assignee of a task", kind, WORD),
        "labels": list(world.word("label of a task", kind, WORD)),
        "links": [{ "title": world.line("title of a link", kind, TITLE).unwrap_or_default(),
                    "url": url(world, "url of a link", kind) }],
    });
    without_nulls(json!({ "project_key": PROJECT, "tasks": [task] }))
}

/// Sends a save, a dialog and a document that the policy of their project quarantines.
pub async fn hold(world: &mut World) {
    world.service.project(HOLDING).await;
    let policy = json!({ "sanitizer": { "secrets": "quarantine" } });
    world.set_policy(HOLDING, &policy).await;
    let record = json!({ "project_key": HOLDING, "kind": "fewshot",
        "content": world.generator.everything("content of a held save"),
        "title": world.line("title of a held save", Kind::GithubToken, TITLE),
        "tags": list(world.word("tag of a held save", Kind::Connection, WORD)),
        "steps": [world.generator.text("step of a held save", Kind::Jwt, Form::Ruby)],
        "meta": meta(world, Kind::GithubToken) });
    let saved = world.post("/save", &record).await;
    assert_eq!(saved["outcome"], "quarantined", "{saved}");
    let message = content(world, "message of a held dialog", Kind::Jwt);
    let dialog =
        json!({ "project_key": HOLDING, "messages": [{ "role": "user", "content": message }] });
    let kept = world.post("/dialogs", &dialog).await;
    assert!(kept["quarantine_item_id"].is_string(), "{kept}");
    let text = content(world, "text of a held document", Kind::AwsPair);
    let document = json!({ "doc_id": "held", "title": "Held", "content": text });
    let documents = json!({ "project_key": HOLDING, "source": "wiki", "documents": [document] });
    let kept = world.post("/ingest/docs", &documents).await;
    assert_eq!(kept["quarantined"], 1, "{kept}");
}

/// Sends names of entities: names that masking would change are rejected.
async fn named(world: &mut World) {
    for kind in Kind::WORDS {
        let mut canary = |place: &str| world.word(place, kind, WORD).expect("a short canary");
        let (task, linked, asked) =
            (canary("id of a task"), canary("task to link"), canary("task of a dialog"));
        let (source, doc) = (canary("source of a document"), canary("id of a document"));
        let (project, name) = (canary("key of a project"), canary("name of a project"));
        let (login, person, team) =
            (canary("login"), canary("name of a user"), canary("name of a team"));
        let (token, owner) = (canary("name of a token"), canary("owner of a repository"));
        let (repository, branch) =
            (canary("name of a repository"), canary("branch of a repository"));
        let requests = [
            (
                "/tasks/sync",
                json!({ "project_key": PROJECT, "tasks": [{ "external_id": task, "title": "T" }] }),
            ),
            ("/tasks/link", json!({ "project_key": PROJECT, "task_external_id": linked })),
            (
                "/dialogs",
                json!({ "project_key": PROJECT, "task_external_id": asked,
                "messages": [{ "role": "user", "content": "Why?" }] }),
            ),
            (
                "/ingest/docs",
                json!({ "project_key": PROJECT, "source": source,
                "documents": [{ "doc_id": doc, "title": "T", "content": "Text." }] }),
            ),
            ("/projects", json!({ "key": project })),
            ("/projects", json!({ "key": format!("p-{kind:?}").to_lowercase(), "name": name })),
            ("/users", json!({ "login": login })),
            ("/users", json!({ "login": format!("u-{kind:?}"), "name": person })),
            ("/teams", json!({ "key": format!("t-{kind:?}"), "name": team })),
            ("/tokens", json!({ "name": token, "scopes": ["memory:read"] })),
            (
                "/ingest/git",
                json!({ "project_key": PROJECT, "location": "/nowhere", "owner": owner }),
            ),
            (
                "/ingest/git",
                json!({ "project_key": PROJECT, "location": "/nowhere", "name": repository }),
            ),
            (
                "/ingest/git",
                json!({ "project_key": PROJECT, "location": "/nowhere", "ref": branch }),
            ),
        ];
        for (path, body) in requests {
            world.send(Method::POST, path, &body).await;
        }
    }
    // An e-mail address may be part of a repository's path, which is useless without it.
    for kind in Kind::WORDS.into_iter().filter(|kind| !kind.is_personal()) {
        let url = world.generator.text("URL of a repository", kind, Form::Url);
        let canary = world.word("folder of a repository", kind, WORD).expect("a short canary");
        for location in [url, format!("/nowhere/{canary}"), canary] {
            let body = json!({ "project_key": PROJECT, "location": location });
            let (status, answer) = world.send(Method::POST, "/ingest/git", &body).await;
            assert_eq!(status, 400, "{answer}");
        }
    }
}

/// Sends queries, which reach the model as well.
pub async fn ask(world: &mut World) {
    for kind in Kind::SOME {
        let question = content(world, "query of a recall", kind);
        let query: String = question.chars().take(3_900).collect();
        let recall = json!({ "project_key": PROJECT, "query": query,
            "repo_path": file(world, "path of a recall", kind),
            "symbols": list(world.word("symbol of a recall", kind, WORD)),
            "signals": list(world.line("signal of a recall", kind, WORD)),
            "developer": world.line("developer of a recall", kind, WORD),
            "time_budget_ms": 2_000 });
        let (_, bundle) = world.send(Method::POST, "/recall", &without_nulls(recall)).await;
        if let Some(task) = world.word("task of a recall", kind, WORD) {
            let recall = json!({ "project_key": PROJECT, "task_external_id": task });
            world.send(Method::POST, "/recall", &recall).await;
        }
        let feedback = json!({ "bundle_id": bundle["bundle_id"], "used": [] });
        world.send(Method::POST, "/feedback", &feedback).await;
        let question = content(world, "query of a search", kind);
        let query: String = question.chars().take(3_900).collect();
        let search = json!({ "project_key": PROJECT, "query": query,
            "path": world.word("path of a search", kind, WORD),
            "language": world.word("language of a search", kind, WORD),
            "scope": list(world.word("scope of a search", kind, WORD)),
            "tags": list(world.word("tag of a search", kind, WORD)), "explain": true });
        world.send(Method::POST, "/search", &without_nulls(search)).await;
    }
    let search = json!({ "project_key": PROJECT, "query": "what does the shop know?", "limit": 100,
        "explain": true });
    let found = world.post("/search", &search).await;
    assert!(found["results"].as_array().is_some_and(|results| results.len() > 20), "{found}");
}

/// Reads everything back.
pub async fn read(world: &mut World) {
    for path in [
        "/projects",
        "/projects/shop",
        "/projects/shop/members",
        "/projects/shop/policy/versions",
        "/projects/bank/policy/versions",
        "/audit?project_key=shop&limit=200",
        "/audit?project_key=bank&limit=200",
        "/audit?limit=200",
        "/audit/export?project_key=shop",
        "/users",
        "/teams",
        "/tokens",
        "/status",
        "/whoami",
        "/openapi.json",
    ] {
        world.get(path).await;
    }
    world.send(Method::GET, "/metrics", &Value::Null).await;
    for (path, name, one) in [
        ("/records?project_key=shop&limit=200", "items", "/records/"),
        ("/proposals?project_key=shop", "items", "/records/"),
        (
            "/documents?project_key=shop&limit=200",
            "items",
            "/documents/lookup?project_key=shop&id=",
        ),
        ("/quarantine?project_key=bank", "items", "/quarantine/"),
    ] {
        let page = world.get(path).await;
        let listed = page[name].as_array().expect(name);
        assert!(!listed.is_empty(), "{path}: {page}");
        for id in listed.iter().filter_map(|each| each["id"].as_str()) {
            world.get(&format!("{one}{id}")).await;
        }
    }
    for kind in Kind::ALL {
        world.get(&format!("/tasks/CS-{kind:?}?project_key=shop")).await;
    }
    let source = world.word("source to forget", Kind::GithubToken, WORD);
    for (whose, name) in [("saved_by", Some("local".to_owned())), ("source", source)] {
        let forget = json!({ "project_key": PROJECT, whose: name, "dry_run": true });
        let forgotten = world.post("/forget", &forget).await;
        assert_eq!(forgotten["dry_run"], true, "{forgotten}");
    }
}
