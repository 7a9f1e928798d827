//! Canaries in the invalid parts of requests.

use reqwest::Method;
use serde_json::{Value, json};

use super::canaries::Kind;
use super::requests::WORD;
use super::world::{PROJECT, World};

/// Sends invalid requests, each with a canary in the invalid part.
pub async fn send_all(world: &mut World) {
    for kind in [Kind::GithubToken, Kind::Mail] {
        let mut canary = |place: &str| world.word(place, kind, WORD).expect("a short canary");
        let mut bodies = vec![
            json!({ "project_key": PROJECT, "kind": canary("unknown kind"), "content": "x" }),
            json!({ "project_key": canary("unknown project"), "kind": "fact", "content": "x" }),
            json!(canary("no object")),
        ];
        let bad_key = canary("bad key") + "\u{1}";
        for (field, value) in [
            ("content".to_owned(), json!([canary("list for a text")])),
            ("ttl".to_owned(), json!(canary("bad end"))),
            (canary("unknown field"), json!(1)),
            ("dialog_id".to_owned(), json!(canary("bad id"))),
            ("contradicts".to_owned(), json!(canary("no bool"))),
            ("quality".to_owned(), json!({ "dup": canary("no number") })),
            ("meta".to_owned(), json!({ bad_key: 1 })),
        ] {
            let mut body = json!({ "project_key": PROJECT, "kind": "fact", "content": "x" });
            body[field] = value;
            bodies.push(body);
        }
        let paths = [
            "records/{}",
            "nowhere/{}",
            "tasks/{}?project_key=shop",
            "auth/oauth/{}/start",
            "projects/{}",
            "projects/shop/members/{}",
            "repos/{}/{}/index?project_key=shop",
            "search?query={}",
            "records?project_key={}",
            "documents/lookup?project_key=shop&title={}",
            "auth/device?user_code={}",
            "records?project_key=shop&kind={}",
        ];
        let paths: Vec<_> = paths
            .iter()
            .map(|path| {
                let canary = canary(path);
                let encoded: String =
                    url::form_urlencoded::byte_serialize(canary.as_bytes()).collect();
                format!("/{}", path.replace("{}", &encoded))
            })
            .collect();
        let headers =
            [canary("header"), canary("request id"), canary("bearer"), canary("media type")];
        let forms = [
            canary("grant"),
            canary("client"),
            canary("refresh token"),
            canary("revoked"),
            canary("scope"),
        ];
        let broken = [canary("broken JSON"), canary("not UTF-8")];
        for body in bodies {
            let (status, answer) = world.send(Method::POST, "/save", &body).await;
            assert!((400..500).contains(&status), "{status} {answer}");
        }
        for path in paths {
            let (status, answer) = world.send(Method::GET, &path, &Value::Null).await;
            // The page for device codes reports the error itself, with status 200.
            let is_page = path.starts_with("/auth/device?");
            assert!(is_page || (400..500).contains(&status), "{path} {status} {answer}");
            world.send(Method::DELETE, &path, &Value::Null).await;
        }
        raw(world, &headers, &forms, &broken).await;
    }
}

async fn raw(world: &mut World, headers: &[String; 4], forms: &[String; 5], broken: &[String; 2]) {
    let bearer = format!("Bearer {}", world.service.token());
    let authorized = ("authorization", bearer.as_str());
    let json = ("content-type", "application/json");
    let [header, id, token, media] = headers;
    let wrong = format!("Bearer {token}");
    for headers in [
        vec![authorized, json, ("x-anything", header)],
        vec![authorized, json, ("x-request-id", id), ("x-memory-copilot-project", header)],
        vec![json, ("authorization", &wrong)],
        vec![authorized, ("content-type", media)],
        vec![authorized, json, ("origin", header)],
        vec![authorized, json, ("user-agent", header), ("referer", header)],
    ] {
        world
            .send_raw(Method::POST, "/recall", &headers, r#"{"project_key":"shop","query":"x"}"#)
            .await;
    }
    let [grant, client, refresh, revoked, scope] = forms;
    let form = [("content-type", "application/x-www-form-urlencoded")];
    for (path, fields) in [
        ("/auth/token", vec![("grant_type", grant.as_str())]),
        ("/auth/token", vec![("grant_type", "refresh_token"), ("client_id", client)]),
        ("/auth/token", vec![("grant_type", "refresh_token"), ("refresh_token", refresh)]),
        ("/auth/revoke", vec![("token", revoked.as_str())]),
        ("/auth/device", vec![("scope", scope.as_str())]),
    ] {
        let body =
            url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        world.send_raw(Method::POST, path, &form, &body).await;
    }
    let [one, two] = broken;
    for body in [
        format!("{{\"project_key\": {one}"),
        format!("{{\"project_key\": \"shop\", \"query\": \"{two}\" \"x\"}}"),
    ] {
        world.send_raw(Method::POST, "/recall", &[authorized, json], &body).await;
    }
}
