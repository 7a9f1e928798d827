//! A client that saves continuously, whatever happens to the service.

use std::time::Duration;

use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::harness::service::Api;

/// Pause between two saves, so that the machine has capacity for the index run.
const PAUSE: Duration = Duration::from_millis(40);
/// The subjects of the notes. Each note has its number as well, so that none is a duplicate.
const PARTS: [&str; 5] = ["the planner", "the carrier", "the till", "the importer", "the mailer"];

/// Saves until it is stopped.
pub struct Saver {
    stop: CancellationToken,
    work: JoinHandle<Saved>,
}

/// The results of the saves.
#[derive(Debug, Default)]
pub struct Saved {
    /// Ids in the responses.
    pub acknowledged: Vec<String>,
    /// Errors of unacknowledged saves, whose records may exist or not.
    pub failed: Vec<String>,
}

impl Saver {
    /// Starts to save into a project.
    pub fn start(api: &Api, key: &str) -> Self {
        let stop = CancellationToken::new();
        let work = tokio::spawn(save(api.clone(), key.to_owned(), stop.clone()));
        Self { stop, work }
    }

    /// Lets the current save end.
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
            "Since release {number} {part} waits {number} seconds before it asks again, and gives \
             up after {}.",
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
