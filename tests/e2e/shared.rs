//! Two services on one database and one Redis.

use std::process::Command;
use std::time::{Duration, Instant};

use mc_testkit::{Redis, TestDatabase};

use crate::harness::{Service, direct_client};

const PATIENCE: Duration = Duration::from_mins(2);

/// A service that is one of several; with the sealing key of `first`, unless it is that.
async fn node(database: &TestDatabase, redis: &Redis, first: Option<&Service>) -> Service {
    let mut service = Service::prepared();
    service.set("MEMORY_COPILOT__DATABASE__URL", database.url().into());
    service.set("MEMORY_COPILOT__REDIS__URL", redis.url().into());
    // A machine on which tests run is busy.
    service.set("MEMORY_COPILOT__REDIS__ANSWER_MS", "5000".into());
    service.set("MEMORY_COPILOT__SERVER__LIMITS__UNITS_PER_CALLER", "4".into());
    if let Some(first) = first {
        let key = first.data_dir.join("sealing.key");
        service.set("MEMORY_COPILOT__SIGN_IN__SEALING_KEY_FILE", key);
    }
    service.launch().await;
    until_said(&service, "redis answers").await;
    service
}

async fn until_said(service: &Service, words: &str) {
    let began = Instant::now();
    while !service.log().contains(words) {
        assert!(began.elapsed() < PATIENCE, "it never said {words:?}:\n{}", service.log());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn status(service: &Service, token: &str) -> u16 {
    let asked = direct_client().get(format!("{}/whoami", service.url)).bearer_auth(token);
    asked.send().await.expect("an answer").status().as_u16()
}

fn said(command: &mut Command) -> String {
    let output = command.output().expect("it runs");
    [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_has_one_allowance_at_two_services_and_both_answer_without_redis() {
    let (database, mut redis) = (TestDatabase::create().await, Redis::start().await);
    let one = node(&database, &redis, None).await;
    let other = node(&database, &redis, Some(&one)).await;
    let token = one.token();
    for service in [&one, &other, &one, &other] {
        assert_eq!(status(service, &token).await, 200);
    }
    for service in [&one, &other] {
        assert_eq!(status(service, &token).await, 429, "four are all that both let through");
    }
    let doctor = said(&mut one.command(&["doctor"]));
    assert!(doctor.contains("ok    redis"), "{doctor}");

    redis.kill();
    for service in [&one, &other] {
        until_said(service, "redis is away").await;
        assert_eq!(status(service, &token).await, 200, "two of its own four are left");
    }
    let doctor = said(&mut one.command(&["doctor"]));
    assert!(doctor.contains("FAIL  redis"), "{doctor}");
    let shown = said(&mut one.command(&["config", "show"]));
    let url = redis.url();
    let password = url.trim_start_matches("redis://:").split('@').next().expect("a password");
    for text in [&doctor, &shown, &one.log(), &other.log()] {
        assert!(!text.contains(password), "{text}");
    }
}
