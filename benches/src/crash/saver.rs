//! A client that saves one thing after the other, whatever becomes of the service.

use std::time::Duration;

use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::harness::service::Api;

/// Between two saves: some, but not as many as the machine can take, which is to index.
const PAUSE: Duration = Duration::from_millis(40);
/// What differs between two notes; each with its number, so that none is taken for another.
const PARTS: [&str; 5] = ["the planner", "the carrier", "the till", "the importer", "the mailer"];

/// Saves until it is told to stop.
pub struct Saver {
    stop: CancellationToken,
    work: JoinHandle<Saved>,
}

/// What came of the saves.
#[derive(Debug, Default)]
pub struct Saved {
    /// Ids that the service answered with.
    pub acknowledged: Vec<String>,
    /// Why others were not acknowledged, which may be there or not.
    pub failed: Vec<String>,
}

impl Saver {
    /// Begins to save for a project.
    pub fn start(api: &Api, key: &str) -> Self {
        let stop = CancellationToken::new();
        let work = tokio::spawn(save(api.clone(), key.to_owned(), stop.clone()));
        Self { stop, work }
    }

    /// Lets the save that is under way end.
    pub async fn stop(self) -> anyhow::Result<Saved> {
        self.stop.cancel();
        Ok(self.work.await?)
    }
}

async fn save(api: Api, key: String, stop: CancellationToken) -> Saved {
    let mut saved = Saved::default();
    let mut number = 0;
    while !stop.is_cancelled() {
        number += 1;
        let part = PARTS[number % PARTS.len()];
        let content = format!(
            "Since release {number} {part} waits {number} seconds before it asks again, and gives up after {}.",
            number + 3
        );
        let body = json!({ "project_key": key, "kind": "fact", "content": content });
        match api.post("/save", &body).await {
            Ok(answer) => match answer["id"].as_str() {
                Some(id) => saved.acknowledged.push(id.to_owned()),
                None => saved.failed.push(answer["reason"].to_string()),
            },
            Err(error) => saved.failed.push(format!("{error:#}")),
        }
        tokio::time::sleep(PAUSE).await;
    }
    saved
}
