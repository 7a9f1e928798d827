//! Locations other than public https URLs, and the scope that they require.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::accounts::newcomer;
use crate::client::TestApi;

/// Creates a token of the service administrator `local` with these scopes.
pub async fn token_with(api: &TestApi, scopes: &[&str]) -> String {
    let made = api.post("/tokens", json!({"name": "ci", "scopes": scopes})).await.ok();
    made["token"].as_str().unwrap().to_owned()
}

/// Returns a location of each kind that is no public https URL.
fn private_locations(folder: &TempDir) -> [(&'static str, String); 5] {
    let path = folder.path().display();
    [
        ("directory", path.to_string()),
        ("file-url", format!("file://{path}")),
        ("ssh-url", "ssh://git@git.example.org/a/b".to_owned()),
        ("short-form", "git@git.example.org:a/b".to_owned()),
        ("private-host", "https://10.0.0.5/a/b".to_owned()),
    ]
}

fn request(name: &str, location: &str, relocate: bool) -> Value {
    json!({
        "project_key": "shop", "owner": "a", "name": name, "location": location,
        "relocate": relocate
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_administrators_token_needs_a_scope_for_private_locations() {
    let api = TestApi::start().await;
    let folder = TempDir::new().unwrap();
    let locations = private_locations(&folder);
    for scopes in [&["ingest", "memory:read"][..], &["ingest", "memory:read", "admin"][..]] {
        let token = token_with(&api, scopes).await;
        for (name, location) in &locations {
            let body = request(name, location, false);
            let refused = api.with(&token).post("/ingest/git", body).await;
            assert_eq!(refused.fault(403), "location", "{location} with {scopes:?}");
            let (detail, hint) = (&refused.body["detail"], &refused.body["hint"]);
            assert!(detail.to_string().contains("`ingest:local`"), "{detail}");
            assert!(hint.to_string().contains("--scope ingest:local"), "{hint}");
        }
        let public = request("public", "https://93.184.215.14/a/public", false);
        assert_eq!(api.with(&token).post("/ingest/git", public).await.status, 202, "{scopes:?}");
    }
    let names = "select string_agg(name, ' ' order by name) from repositories \
                 where allows_private_network = ";
    assert_eq!(api.text(&format!("{names} false")).await, "public");

    let token = token_with(&api, &["ingest", "ingest:local", "memory:read"]).await;
    for (name, location) in &locations {
        let accepted = api.with(&token).post("/ingest/git", request(name, location, false)).await;
        assert_eq!(accepted.status, 202, "{location}: {}", accepted.body);
    }
    let all = "directory file-url private-host short-form ssh-url";
    assert_eq!(api.text(&format!("{names} true")).await, all);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_scope_for_private_locations_needs_a_service_administrator() {
    let api = TestApi::start().await;
    // A token of every scope.
    let token = newcomer(&api, "ann").await;
    api.put("/projects/shop/members/ann", json!({"role": "admin"})).await.ok();
    let folder = TempDir::new().unwrap();
    for (name, location) in private_locations(&folder) {
        let refused = api.with(&token).post("/ingest/git", request(name, &location, false)).await;
        assert_eq!(refused.fault(403), "location", "{location}");
        assert!(refused.body["detail"].to_string().contains("administrator"), "{}", refused.body);
    }
    assert_eq!(api.get("/projects/shop").await.ok()["repositories"], 0);
}

/// The access of a repository is that of the token that requested its present location.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lesser_token_uses_no_access_that_a_repository_has() {
    let api = TestApi::start().await;
    let [first, second] = [(); 2].map(|()| TempDir::new().unwrap());
    let path = |folder: &TempDir| folder.path().canonicalize().unwrap().display().to_string();
    let (first, second) = (path(&first), path(&second));
    let stored = "select location || ' ' || allows_private_network::text from repositories";
    assert_eq!(api.post("/ingest/git", request("core", &first, false)).await.status, 202);
    assert_eq!(api.text(stored).await, format!("{first} true"));

    let token = token_with(&api, &["ingest", "memory:read"]).await;
    let lesser = api.with(&token);
    for (location, relocate) in [(&first, false), (&first, true), (&second, true)] {
        let refused = lesser.post("/ingest/git", request("core", location, relocate)).await;
        assert_eq!(refused.fault(403), "location", "{location}");
        assert_eq!(api.text(stored).await, format!("{first} true"));
    }
    let public = "https://93.184.215.14/a/core";
    assert_eq!(lesser.post("/ingest/git", request("core", public, false)).await.status, 409);
    assert_eq!(lesser.post("/ingest/git", request("core", public, true)).await.status, 202);
    assert_eq!(api.text(stored).await, format!("{public} false"), "the access is not kept");
    for location in [first.as_str(), "https://10.0.0.5/a/core"] {
        let refused = lesser.post("/ingest/git", request("core", location, true)).await;
        assert_eq!(refused.fault(403), "location", "{location}");
    }
    assert_eq!(api.text(stored).await, format!("{public} false"));
    assert_eq!(api.post("/ingest/git", request("core", &second, true)).await.status, 202);
    assert_eq!(api.text(stored).await, format!("{second} true"));
}
