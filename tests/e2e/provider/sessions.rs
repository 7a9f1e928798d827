//! Sessions and their tokens.

use std::process::{Command, Stdio};

use reqwest::Method;
use serde_json::{Value, json};

use super::server::{installation, script};
use super::world::{Answer, World};

async fn refreshed(world: &World, token: &str) -> Answer {
    let fields = [("grant_type", "refresh_token"), ("refresh_token", token)];
    world.form("/auth/token", &fields).await
}

fn text<'a>(body: &'a Value, name: &str) -> &'a str {
    body[name].as_str().expect(name)
}

#[tokio::test]
async fn reused_refresh_token_revokes_the_session() {
    let world = World::new().await;
    world.invite("ada", "1815").await;
    let first = world.signed_in("1815", "memory:read memory:write").await;
    let second = refreshed(&world, text(&first, "refresh_token")).await.ok();
    let third = refreshed(&world, text(&second, "refresh_token")).await.ok();
    assert_eq!(third["scope"], "memory:read memory:write");
    for tokens in [&first, &second, &third] {
        let access = text(tokens, "access_token");
        assert!(world.whoami(access).await.is_some(), "all of one session");
        let swapped = refreshed(&world, access).await;
        assert_eq!(swapped.body["error"], "invalid_grant", "an access token refreshes nothing");
        assert!(world.whoami(text(tokens, "refresh_token")).await.is_none(), "nor the other way");
    }

    let reused = refreshed(&world, text(&second, "refresh_token")).await;
    assert_eq!((reused.status, &reused.body["error"]), (400, &json!("invalid_grant")));
    let newest = refreshed(&world, text(&third, "refresh_token")).await;
    assert_eq!(newest.body["error"], "invalid_grant", "the whole family: {newest:?}");
    for tokens in [&first, &second, &third] {
        assert!(world.whoami(text(tokens, "access_token")).await.is_none(), "at once");
    }
    // Signing in again starts another session.
    let again = world.signed_in("1815", "memory:read").await;
    assert!(world.whoami(text(&again, "access_token")).await.is_some());
    // Signing out ends only its own session.
    let fields = [("token", text(&again, "refresh_token"))];
    assert_eq!(world.form("/auth/revoke", &fields).await.status, 200);
    assert!(world.whoami(text(&again, "access_token")).await.is_none());
    let ended = refreshed(&world, text(&again, "refresh_token")).await;
    assert_eq!(ended.body["error"], "invalid_grant");
}

#[tokio::test]
async fn personal_token_is_exchanged_for_a_verifiable_jwt() {
    let world = World::new().await;
    world.invite("ada", "1815").await;
    let session = world.signed_in("1815", "memory:read memory:write").await;
    let access = text(&session, "access_token");
    let wanted = json!({ "name": "ci", "scopes": ["memory:read"] });
    let personal = world.call(Method::POST, "/tokens", access, wanted).await.ok();

    let exchange = |scope: &'static str| {
        let fields = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("subject_token", text(&personal, "token")),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token"),
            ("client_id", "dashboard"),
            ("scope", scope),
        ];
        let world = &world;
        async move { world.form("/auth/token", &fields).await }
    };
    let wider = exchange("memory:read memory:write").await;
    assert_eq!((wider.status, &wider.body["error"]), (400, &json!("invalid_scope")));
    let given = exchange("memory:read").await.ok();
    assert!(given["refresh_token"].is_null(), "{given}");
    let token = text(&given, "access_token");

    let me = world.whoami(token).await.expect("a user");
    let read = read_by_others(&world, token).await.expect("a good token");
    assert_eq!(read["header"]["alg"], "EdDSA", "{read}");
    let claims = &read["claims"];
    assert_eq!((&claims["sub"], &claims["sid"]), (&me["id"], &personal["id"]), "{me} {claims}");
    assert_eq!(
        (&claims["client_id"], &claims["scope"]),
        (&json!("dashboard"), &json!("memory:read"))
    );
    let (head, rest) = token.split_at(token.len() - 8);
    let altered = format!("{head}{}", rest.chars().rev().collect::<String>());
    assert!(read_by_others(&world, &altered).await.is_err());
    assert!(world.whoami(&altered).await.is_none());

    let revoke = format!("/tokens/{}", text(&personal, "id"));
    assert_eq!(world.call(Method::DELETE, &revoke, access, Value::Null).await.status, 204);
    assert!(world.whoami(token).await.is_none(), "what it was exchanged for ends with it");
    assert_eq!(exchange("memory:read").await.body["error"], "invalid_grant");
}

/// Verifies a token with `jose` and the service's JWKS.
async fn read_by_others(world: &World, token: &str) -> Result<Value, String> {
    let keys = world.call(Method::GET, "/.well-known/jwks.json", "", Value::Null).await.ok();
    let metadata = "/.well-known/oauth-authorization-server";
    let metadata = world.call(Method::GET, metadata, "", Value::Null).await.ok();
    let issuer = &metadata["issuer"];
    let now = chrono::Utc::now().timestamp();
    let question = json!({
        "token": token, "jwks": keys, "issuer": issuer, "audience": issuer, "now": now });
    let (node, directory) = installation();
    let mut command = Command::new(node);
    command.arg(script("verify.mjs")).arg(directory);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().expect("node runs");
    serde_json::to_writer(process.stdin.take().unwrap(), &question).unwrap();
    let output = process.wait_with_output().unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(serde_json::from_slice(&output.stdout).expect("JSON"))
}
