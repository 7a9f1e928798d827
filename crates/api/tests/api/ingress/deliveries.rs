//! Webhook deliveries whose bodies do not end. They delay no delivery of another address.

use std::io::{ErrorKind, Read as _};

use futures::future::join_all;
use mc_api::{ApiSettings, IngressConfig};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::limits::served;
use super::wire::{Answer, Service};
use crate::client::TestApi;
use crate::webhooks::{Webhook, signature, webhook};

/// The addresses of deliveries, as a trusted proxy reports them.
const PROVIDER: &str = "192.0.2.1";
const ATTACKERS: [&str; 2] = ["192.0.2.2", "192.0.2.3"];
/// Permits of the service, too few for a share of each address.
const PERMITS: usize = 8;

/// Tries of a delivery: a slow machine may need longer for one than the service reads the body for
/// an unknown webhook.
const ATTEMPTS: usize = 8;

/// The length of a body, as its sender declares it.
const UNDECLARED: &str = "Transfer-Encoding: chunked";
const DECLARED: &str = "Content-Length: 1000";
/// The response of a service that starts to read a body.
const CONTINUE: &str = "HTTP/1.1 100 Continue\r\n\r\n";

/// A service behind a trusted proxy, with a webhook of GitHub.
struct Receiver {
    service: Service,
    webhook: Webhook,
}

impl Receiver {
    async fn of(api: &TestApi, max_concurrent_requests: usize) -> Self {
        let settings = ApiSettings { max_concurrent_requests, ..ApiSettings::default() };
        let ingress = IngressConfig {
            trusted_proxies: vec!["127.0.0.0/8".parse().unwrap()],
            ..IngressConfig::default()
        };
        let webhook = webhook(api, "github").await;
        Self { service: served(api, settings, ingress).await, webhook }
    }

    /// Returns the status of a genuine delivery of the provider with a text of this length.
    async fn deliver(&self, chars: usize) -> u16 {
        let body = json!({ "zen": "x".repeat(chars) }).to_string();
        let head = format!(
            "{}\r\nContent-Length: {}\r\nConnection: close\r\nX-GitHub-Event: ping\r\n\
             X-GitHub-Delivery: d-{chars}\r\nX-Hub-Signature-256: {}\r\n\r\n",
            head(PROVIDER, &self.webhook.path),
            body.len(),
            signature(&self.webhook.secret, body.as_bytes()),
        );
        let mut stream = self.service.connect().await;
        // A service that rejects the delivery does not read all of it.
        let _ = stream.write_all([head, body].concat().as_bytes()).await;
        Answer::read(&mut stream).await.status
    }

    /// Sends a delivery without its body; returns once the service reads the body, or rejects it.
    async fn send_unfinished(&self, from: &str, path: &str, length: &str) -> TcpStream {
        let mut stream = self.service.connect().await;
        let head = format!(
            "{}\r\n{length}\r\nConnection: close\r\nExpect: 100-continue\r\n\r\n",
            head(from, path)
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut head = [0; CONTINUE.len()];
        stream.read_exact(&mut head).await.unwrap();
        stream
    }
}

/// Whether the service has sent more than [`CONTINUE`].
fn is_answered(stream: TcpStream) -> bool {
    let read = stream.into_std().unwrap().read(&mut [0]);
    !read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

fn head(address: &str, path: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: {address}\r\n\
         Content-Type: application/json"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unfinished_deliveries_to_an_unknown_webhook_take_no_permit() {
    let api = TestApi::start().await;
    let receiver = Receiver::of(&api, PERMITS).await;
    let unknown =
        receiver.webhook.path.replace(&receiver.webhook.id, "01920000-0000-7000-8000-000000000000");
    for attempt in 0..ATTEMPTS {
        let send = |_| receiver.send_unfinished(ATTACKERS[0], &unknown, UNDECLARED);
        let unfinished = join_all((0..PERMITS).map(send)).await;
        assert_eq!(receiver.deliver(attempt).await, 202);
        if !unfinished.into_iter().any(is_answered) {
            return;
        }
    }
    panic!("each delivery waited for the end of one to an unknown webhook");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unfinished_deliveries_to_a_known_webhook_take_no_permit() {
    let api = TestApi::start().await;
    let receiver = Receiver::of(&api, PERMITS).await;
    let path = &receiver.webhook.path;
    let send = |length| receiver.send_unfinished(ATTACKERS[0], path, length);
    let mut unfinished = join_all((0..PERMITS / 2).map(|_| send(UNDECLARED))).await;
    unfinished.extend(join_all((0..PERMITS).map(|_| send(DECLARED))).await);
    assert_eq!(receiver.deliver(0).await, 202);
    drop(unfinished);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unfinished_delivery_reserves_no_memory_for_the_rest_of_its_body() {
    let api = TestApi::start().await;
    let receiver = Receiver::of(&api, ApiSettings::default().max_concurrent_requests).await;
    let path = &receiver.webhook.path;
    // One address alone could take half of the memory at most.
    let send = |nth: usize| receiver.send_unfinished(ATTACKERS[nth % 2], path, UNDECLARED);
    let unfinished = join_all((0..20).map(send)).await;
    assert_eq!(receiver.deliver(7_000_000).await, 202);
    drop(unfinished);
}
