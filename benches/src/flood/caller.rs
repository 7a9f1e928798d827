//! The caller that recalls while the service is under attack, and sends webhook deliveries.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use reqwest::{Client, ClientBuilder};
use serde_json::{Value, json};

use super::target::create_token;
use crate::harness::service::Api;
use crate::recall::seed;
use crate::text::{Note, Notes};
use crate::webhooks::webhook::{Delivery, Webhook};

/// Address of the trusted proxy through which the caller comes.
const PROXY: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// Address of the caller, as the proxy reports it.
const ADDRESS: &str = "192.0.2.1";
/// Every so many recalls open a new connection.
const CONNECT_EVERY: usize = 8;
/// So many recalls precede a delivery.
const DELIVER_EVERY: usize = 8;
/// Words of a query.
const WORDS: usize = 12;
/// Timeout of a recall, above that of the service.
const TIMEOUT: Duration = Duration::from_secs(40);
/// Delay after a recall that failed.
const RETRY_DELAY: Duration = Duration::from_millis(10);

/// A caller with a token of its own.
pub struct Caller {
    connected: Client,
    unconnected: Client,
    url: String,
    token: String,
    webhook: Webhook,
    notes: Vec<Note>,
    /// Number of the next recall.
    next: usize,
}

/// The recalls and deliveries during an attack.
#[derive(Debug, Default)]
pub struct Recalls {
    /// Times of recalls that succeeded.
    pub times: Vec<Duration>,
    /// Reasons of recalls that failed.
    pub failures: Vec<String>,
    /// Number of recalls that left a late retriever out.
    pub degraded: usize,
    /// Reasons of deliveries that failed.
    pub failed_deliveries: Vec<String>,
}

/// Returns the value of `server.trusted_proxies`.
pub fn proxies() -> String {
    format!("[\"{PROXY}\"]")
}

impl Caller {
    /// Creates a caller that asks about these notes, and sends deliveries to a webhook.
    pub async fn new(api: &Api, notes: &Notes, webhook: Webhook) -> Result<Self> {
        let (token, _) = create_token(api, "memory:read").await?;
        Ok(Self {
            connected: client().build()?,
            unconnected: client().pool_max_idle_per_host(0).build()?,
            url: api.address("/recall"),
            token,
            webhook,
            notes: notes.stored.clone(),
            next: 0,
        })
    }

    /// Recalls one after the other until `end`, with a delivery after some of them.
    pub async fn recall_until(&mut self, end: Instant) -> Recalls {
        let mut recalls = Recalls::default();
        while Instant::now() < end {
            match self.recall().await {
                Ok((time, bundle)) => {
                    let left_out = bundle["degraded"].as_array();
                    recalls.degraded += usize::from(left_out.is_some_and(|some| !some.is_empty()));
                    recalls.times.push(time);
                }
                Err(error) => {
                    recalls.failures.push(format!("{error:#}"));
                    tokio::time::sleep(RETRY_DELAY).await;
                }
            }
            if self.next.is_multiple_of(DELIVER_EVERY)
                && let Err(error) = self.deliver().await
            {
                recalls.failed_deliveries.push(format!("{error:#}"));
            }
        }
        recalls
    }

    /// Sends the next recall; returns the time until its bundle was read.
    pub async fn recall(&mut self) -> Result<(Duration, Value)> {
        let number = self.next;
        self.next += 1;
        let connects = number.is_multiple_of(CONNECT_EVERY);
        let client = if connects { &self.unconnected } else { &self.connected };
        let request = client
            .post(&self.url)
            .bearer_auth(&self.token)
            .header("x-forwarded-for", ADDRESS)
            .json(&question(&self.notes, number));
        let began = Instant::now();
        let response = request.send().await?;
        let status = response.status();
        let body = response.text().await?;
        let time = began.elapsed();
        ensure!(status.is_success(), "/recall answered {status}: {body}");
        Ok((time, serde_json::from_str(&body)?))
    }

    /// Sends the next delivery.
    async fn deliver(&self) -> Result<()> {
        let Delivery { id, body, signature } = self.webhook.ping(self.next);
        let request = self
            .connected
            .post(&self.webhook.url)
            .header("content-type", "application/json")
            .header("x-forwarded-for", ADDRESS)
            .header("x-github-event", "ping")
            .header("x-github-delivery", id)
            .header("x-hub-signature-256", signature)
            .body(body);
        let response = request.send().await?;
        let status = response.status();
        let body = response.text().await?;
        ensure!(status.is_success(), "the delivery got {status}: {body}");
        Ok(())
    }
}

fn client() -> ClientBuilder {
    Client::builder().no_proxy().timeout(TIMEOUT).local_address(IpAddr::V4(PROXY))
}

/// Returns the recall with this number. Each round over the notes has other words of each.
fn question(notes: &[Note], number: usize) -> Value {
    let (note, round) = (&notes[number % notes.len()], number / notes.len());
    let words = note.text.split_whitespace().cycle().skip(round * WORDS).take(WORDS);
    let query = words.collect::<Vec<_>>().join(" ");
    json!({ "project_key": seed::key(note.project), "query": query })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_asks_for_other_words_of_a_note() {
        let text = (0..30).map(|word| word.to_string()).collect::<Vec<_>>().join(" ");
        let (scope, tag) = (String::new(), String::new());
        let notes = [Note { project: 1, scope, tag, text }];
        let query = |number| question(&notes, number)["query"].to_string();
        assert_eq!(query(0), "\"0 1 2 3 4 5 6 7 8 9 10 11\"");
        assert_eq!(query(2), "\"24 25 26 27 28 29 0 1 2 3 4 5\"");
    }
}
