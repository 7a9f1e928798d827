//! A program that was turned: whatever it saves, nothing of it counts before a person has decided.

use futures::stream::{self, StreamExt as _};
use mc_prompt_guard::payloads::{FAMILIES, VARIANTS, payloads};
use serde_json::json;

use crate::client::TestApi;
use crate::proposals::agent;

const SEED: u64 = 0x0BAD_5EED;
/// Of each family.
const SENT: usize = 67;
const CONCURRENCY: usize = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_payload_is_promoted_without_a_person() {
    let api = TestApi::start().await;
    let token = agent(&api).await;
    let bot = api.with(&token);
    let chosen = payloads(SEED).into_iter().enumerate().filter(|(at, _)| at % VARIANTS < SENT);
    let payloads: Vec<_> = chosen.map(|(_, payload)| payload).collect();
    assert!(payloads.len() >= 1_000 && FAMILIES.len() >= 8, "{}", payloads.len());
    let texts: Vec<_> = payloads.iter().flat_map(|payload| &payload.parts).collect();
    let outcomes: Vec<String> = stream::iter(texts.iter().enumerate())
        .map(async |(number, text)| {
            let kind = ["rule", "gotcha", "fact", "fewshot"][number % 4];
            let content: String =
                format!("Of the part {number}: {text}").chars().take(30_000).collect();
            let save = json!({"project_key": "shop", "kind": kind, "content": content,
                              "visibility": "team", "trust": "confirmed"});
            let saved = bot.post("/save", save).await;
            // Characters that no text may contain are rejected by the ingress.
            if saved.status == 400 {
                return "refused".to_owned();
            }
            saved.ok()["outcome"].as_str().unwrap().to_owned()
        })
        .buffer_unordered(CONCURRENCY)
        .collect()
        .await;
    let expected = ["proposed", "quarantined", "rejected", "duplicate", "refused"];
    for outcome in &outcomes {
        assert!(expected.contains(&outcome.as_str()), "{outcome}");
    }
    let count = |word: &str| outcomes.iter().filter(|outcome| *outcome == word).count();
    assert!(count("quarantined") > texts.len() / 2, "{} held", count("quarantined"));
    assert!(count("proposed") > 0, "some look harmless, and wait for a person all the same");

    let counts = "select count(*)::text from memory_records where visibility = 'team' or trust <> \
        'untrusted'";
    assert_eq!(api.text(counts).await, "0");
    assert_eq!(
        api.text("select count(*)::text from passages").await,
        "0",
        "nothing can be recalled"
    );
}
