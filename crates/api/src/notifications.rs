//! Notifications about new quarantine items: a signed POST to the URL of a project's policy.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use futures::future;
use hmac::{Hmac, Mac as _};
use mc_crypto::Encryptor;
use mc_domain::{ProjectId, is_public};
use mc_store::Store;
use mc_store::quarantine::{self, QuarantineNotification};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect;
use serde_json::json;
use sha2::Sha256;
use url::{Host, Url};

/// Notifications that are sent at once.
const BATCH_SIZE: i64 = 16;
/// How long a receiver may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Headers of a notification.
const SIGNATURE: &str = "x-memory-copilot-signature";
const TIMESTAMP: &str = "x-memory-copilot-timestamp";

/// Sender of notifications.
#[derive(Debug, Clone)]
pub struct QuarantineNotifier {
    client: reqwest::Client,
    encryptor: Arc<Encryptor>,
    allow_private: bool,
}

impl QuarantineNotifier {
    /// With `allow_private`, notifications are sent to private networks as well.
    pub fn new(encryptor: Arc<Encryptor>, allow_private: bool) -> reqwest::Result<Self> {
        let client = reqwest::Client::builder()
            .timeout(TIMEOUT)
            .redirect(redirect::Policy::none())
            .no_proxy()
            .dns_resolver(Arc::new(PublicResolver { allow_private }))
            .user_agent(concat!("memory-copilot/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self { client, encryptor, allow_private })
    }

    /// Sends the notifications that are due, at the same time, so that a slow receiver delays no
    /// other. Returns how many were delivered; the others are due again later.
    pub async fn send_due(&self, store: &Store) -> Result<usize, mc_store::Error> {
        let due = quarantine::claim_notifications(store, BATCH_SIZE).await?;
        let sent =
            future::join_all(due.iter().map(|notification| self.deliver(store, notification)))
                .await;
        let delivered: Vec<bool> = sent.into_iter().collect::<Result<_, _>>()?;
        Ok(delivered.into_iter().filter(|is_delivered| *is_delivered).count())
    }

    async fn deliver(
        &self,
        store: &Store,
        notification: &QuarantineNotification,
    ) -> Result<bool, mc_store::Error> {
        match self.send(notification).await {
            Ok(()) => {
                quarantine::mark_notified(store, notification.item.id).await?;
                Ok(true)
            }
            Err(reason) => {
                tracing::warn!(
                    quarantine_item.id = %notification.item.id,
                    project.key = %notification.project_key,
                    notification.attempts = notification.attempts,
                    reason,
                    "quarantine notification failed"
                );
                Ok(false)
            }
        }
    }

    async fn send(&self, notification: &QuarantineNotification) -> Result<(), String> {
        // The policy has no URL any more.
        let Some(url) = &notification.url else { return Ok(()) };
        check_url(url, self.allow_private)?;
        let body = body(notification);
        let timestamp = Utc::now().timestamp().to_string();
        let secret = secret(&self.encryptor, notification.item.project);
        let request = self
            .client
            .post(url)
            .header("content-type", "application/json")
            .header(TIMESTAMP, &timestamp)
            .header(SIGNATURE, signature(&secret, &timestamp, &body))
            .body(body);
        // Without the URL, which may contain a secret of the receiver.
        let response = request.send().await.map_err(|error| error.without_url().to_string())?;
        let status = response.status();
        if status.is_success() {
            Ok(())
        } else {
            Err(format!("the receiver responded with {status}"))
        }
    }
}

/// Checks whether notifications may be sent to a URL, and returns the broken rule if not. The
/// addresses of a name are checked when it is resolved.
pub fn check_url(url: &str, allow_private: bool) -> Result<(), String> {
    let url = Url::parse(url).map_err(|_| "must be an https URL".to_owned())?;
    if url.scheme() != "https" && !(allow_private && url.scheme() == "http") {
        return Err("must be an https URL".to_owned());
    }
    let address = match url.host() {
        Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
        Some(Host::Domain(_)) => None,
        None => return Err("must name a host".to_owned()),
    };
    if !allow_private && address.is_some_and(|address| !is_public(address)) {
        return Err("is in a private network; use a public address, or have the operator set \
             notifications.allow_private_networks"
            .to_owned());
    }
    Ok(())
}

/// Derives the key that signs a project's notifications; it is not stored.
pub fn secret(encryptor: &Encryptor, project: ProjectId) -> String {
    hex::encode(encryptor.derive("notifications.secret", project.0.as_bytes()))
}

fn signature(secret: &str, timestamp: &str, body: &str) -> String {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes keys of any length");
    mac.update(timestamp.as_bytes());
    mac.update(b".");
    mac.update(body.as_bytes());
    format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
}

/// Renders the body, which has the reasons of the item and never its content.
fn body(notification: &QuarantineNotification) -> String {
    let item = &notification.item;
    json!({
        "event": "quarantine_item.created",
        "project_key": notification.project_key,
        "quarantine_item": {
            "id": item.id,
            "kind": item.kind,
            "reasons": item.reasons,
            "submitted_by": item.sender,
            "created_at": item.created_at,
            "expires_at": item.expires_at,
        },
    })
    .to_string()
}

/// Resolver that returns public addresses only, also for names that were changed after the check
/// of their URL.
#[derive(Debug)]
struct PublicResolver {
    allow_private: bool,
}

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let allow_private = self.allow_private;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<SocketAddr> =
                found.filter(|address| allow_private || is_public(address.ip())).collect();
            if allowed.is_empty() {
                return Err("the name has no public address".into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn notifications_are_sent_to_public_addresses_only() {
        let lookup = |allow_private| {
            PublicResolver { allow_private }.resolve("localhost".parse().expect("a name"))
        };
        assert!(lookup(false).await.is_err());
        assert!(lookup(true).await.is_ok());
        for private in ["https://10.1.2.3/x", "https://169.254.169.254/x", "https://[fc00::1]/x"] {
            assert!(check_url(private, false).is_err(), "{private}");
        }
        assert_eq!(check_url("https://93.184.215.14/x", false), Ok(()));
    }

    #[test]
    fn a_private_address_is_rejected_in_every_form() {
        for url in [
            "https://127.0.0.1/x",
            "https://2130706433/x",
            "https://0x7f.1/x",
            "https://[::1]/x",
            "https://[::ffff:10.0.0.1]/x",
            "http://example.com/x",
            "ftp://example.com",
            "https:",
        ] {
            assert!(check_url(url, false).is_err(), "{url}");
        }
        assert_eq!(check_url("https://hooks.example.com/a?b=c", false), Ok(()));
        assert_eq!(check_url("http://127.0.0.1:9/x", true), Ok(()));
    }

    #[test]
    fn a_signature_covers_timestamp_and_body() {
        // openssl: printf '1700000000.{}' | openssl dgst -sha256 -hmac secret
        assert_eq!(
            signature("secret", "1700000000", "{}"),
            "sha256=b8569b78799ff9e3cbff0fc2d63a33a2b57f3282abd07c37ae5e8e7d79a5f163"
        );
    }
}
