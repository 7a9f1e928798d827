//! Successful logins.

use reqwest::Method;
use serde_json::{Value, json};

use super::browser::Browser;
use super::world::World;

#[tokio::test]
async fn invited_user_signs_in_and_works_until_disabled() {
    let world = World::new().await;
    world.service.project("shop").await;
    world.service.project("bank").await;
    world.invite("ada", "1815").await;
    world.give("ada", "shop", "member").await;

    let session = world.signed_in("1815", "memory:read memory:write ingest").await;
    let token = session["access_token"].as_str().unwrap();
    let me = world.whoami(token).await.expect("a user");
    assert_eq!((&me["login"], &me["is_admin"]), (&json!("ada"), &json!(false)), "{me}");

    let save = |project: &str| {
        let content = "Money is kept in cents, never in floating point.";
        json!({ "project_key": project, "kind": "rule", "content": content })
    };
    let saved = world.call(Method::POST, "/save", token, save("shop")).await.ok();
    assert_eq!(saved["outcome"], "created", "{saved}");
    let foreign = world.call(Method::POST, "/save", token, save("bank")).await;
    assert_eq!(foreign.status, 404, "{foreign:?}");
    let projects = world.call(Method::GET, "/projects", token, Value::Null).await.ok();
    assert_eq!(projects["items"].as_array().map(Vec::len), Some(1), "{projects}");

    let members = "/projects/shop/members/ada";
    let removed = world.call(Method::DELETE, members, &world.service.token(), Value::Null).await;
    assert_eq!(removed.status, 204);
    let after = world.call(Method::POST, "/save", token, save("shop")).await;
    assert_eq!(after.status, 404, "the same token is of no use for the project: {after:?}");
    assert!(world.whoami(token).await.is_some(), "and still tells who it is");
}

#[tokio::test]
async fn uninvited_and_disabled_users_cannot_sign_in() {
    let world = World::new().await;
    world.invite("ada", "1815").await;
    // The provider has not verified this address.
    world.invite("eve", "unverified-1").await;
    for subject in ["1906", "unverified-1"] {
        let browser = Browser::new();
        let back = world.up_to_callback(&browser, "corp", subject).await;
        let (_, page) = browser.visit(&back).await;
        assert!(page.contains("You have no account here"), "{page}");
        let (_, page) = browser.visit(&world.address("/auth/device")).await;
        assert!(page.contains("Sign in with corp"), "nobody is signed in: {page}");
    }

    let tokens = world.signed_in("1815", "memory:read").await;
    let token = tokens["access_token"].as_str().unwrap();
    assert!(world.whoami(token).await.is_some());
    let shut_out = json!({ "is_disabled": true });
    let admin = world.service.token();
    world.call(Method::PATCH, "/users/ada", &admin, shut_out).await.ok();
    assert!(world.whoami(token).await.is_none());
    let browser = Browser::new();
    let back = world.up_to_callback(&browser, "corp", "1815").await;
    let (_, page) = browser.visit(&back).await;
    assert!(page.contains("You have no account here"), "{page}");
}
