//! Notices to whom a project's policy names: a signed POST for each text that was put into quarantine.

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

/// Notices taken at once.
const AT_ONCE: i64 = 16;
/// How long a receiver may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// The headers of a notice.
const SIGNATURE: &str = "x-memory-copilot-signature";
const TIMESTAMP: &str = "x-memory-copilot-timestamp";

/// Sends notices.
#[derive(Debug, Clone)]
pub struct QuarantineNotifier {
    client: reqwest::Client,
    sealer: Arc<Encryptor>,
    local: bool,
}

impl QuarantineNotifier {
    /// With `local`, also to addresses inside the network that the service stands in.
    pub fn new(sealer: Arc<Encryptor>, local: bool) -> reqwest::Result<Self> {
        let client = reqwest::Client::builder()
            .timeout(ANSWER_WITHIN)
            .redirect(redirect::Policy::none())
            .no_proxy()
            .dns_resolver(Arc::new(Outside { local }))
            .user_agent(concat!("memory-copilot/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self { client, sealer, local })
    }

    /// Sends what is due, each once and all together: one slow receiver keeps nobody waiting longer than
    /// itself. Answers how many arrived; what does not is due again later.
    pub async fn send_due(&self, store: &Store) -> Result<usize, mc_store::Error> {
        let due = quarantine::claim_notifications(store, AT_ONCE).await?;
        let sent = future::join_all(due.iter().map(|notice| self.deliver(store, notice))).await;
        let arrived: Vec<bool> = sent.into_iter().collect::<Result<_, _>>()?;
        Ok(arrived.into_iter().filter(|arrived| *arrived).count())
    }

    async fn deliver(
        &self,
        store: &Store,
        notice: &QuarantineNotification,
    ) -> Result<bool, mc_store::Error> {
        match self.send(notice).await {
            Ok(()) => {
                quarantine::mark_notified(store, notice.item.id).await?;
                Ok(true)
            }
            Err(reason) => {
                tracing::warn!(
                    hold.id = %notice.item.id,
                    project.key = %notice.project_key,
                    notice.attempts = notice.attempts,
                    reason,
                    "a notice about the quarantine did not arrive"
                );
                Ok(false)
            }
        }
    }

    async fn send(&self, notice: &QuarantineNotification) -> Result<(), String> {
        // Taken out of the policy meanwhile: nobody is to be told any more.
        let Some(url) = &notice.url else { return Ok(()) };
        check_url(url, self.local)?;
        let body = body(notice);
        let timestamp = Utc::now().timestamp().to_string();
        let secret = secret(&self.sealer, notice.item.project);
        let request = self
            .client
            .post(url)
            .header("content-type", "application/json")
            .header(TIMESTAMP, &timestamp)
            .header(SIGNATURE, signature(&secret, &timestamp, &body))
            .body(body);
        // Without the URL, which may hold what is the receiver's alone.
        let answer = request.send().await.map_err(|error| error.without_url().to_string())?;
        let status = answer.status();
        if status.is_success() { Ok(()) } else { Err(format!("it was answered with {status}")) }
    }
}

/// Whether notices may be sent there; the rule that is broken otherwise. A name is looked at once more
/// when it is resolved.
pub fn check_url(url: &str, local: bool) -> Result<(), String> {
    let url = Url::parse(url).map_err(|_| "must be an https URL".to_owned())?;
    if url.scheme() != "https" && !(local && url.scheme() == "http") {
        return Err("must be an https URL".to_owned());
    }
    let address = match url.host() {
        Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
        Some(Host::Domain(_)) => None,
        None => return Err("must name a host".to_owned()),
    };
    if !local && address.is_some_and(|address| !is_public(address)) {
        return Err(
            "leads into the network of the service; it must lead outside, or the operator \
                    sets notifications.allow_private_networks"
                .to_owned(),
        );
    }
    Ok(())
}

/// The key that a project's notices are signed with: derived, so that it needs no place of its own.
pub fn secret(sealer: &Encryptor, project: ProjectId) -> String {
    hex::encode(sealer.derive("notifications.secret", project.0.as_bytes()))
}

fn signature(secret: &str, timestamp: &str, body: &str) -> String {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key of any length will do");
    mac.update(timestamp.as_bytes());
    mac.update(b".");
    mac.update(body.as_bytes());
    format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
}

/// What was held and why; never what it says.
fn body(notice: &QuarantineNotification) -> String {
    let hold = &notice.item;
    json!({
        "event": "quarantine_item.created",
        "project_key": notice.project_key,
        "hold": {
            "id": hold.id,
            "kind": hold.kind,
            "reasons": hold.reasons,
            "submitted_by": hold.sender,
            "created_at": hold.created_at,
            "expires_at": hold.expires_at,
        },
    })
    .to_string()
}

/// Resolves names to addresses outside the service's network only, whatever a name is made to lead to
/// after it was looked at.
#[derive(Debug)]
struct Outside {
    local: bool,
}

impl Resolve for Outside {
    fn resolve(&self, name: Name) -> Resolving {
        let local = self.local;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<SocketAddr> =
                found.filter(|address| local || is_public(address.ip())).collect();
            if allowed.is_empty() {
                return Err("the name leads to no address outside the service's network".into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn notices_go_outside_only() {
        let lookup = |local| Outside { local }.resolve("localhost".parse().expect("a name"));
        assert!(lookup(false).await.is_err());
        assert!(lookup(true).await.is_ok());
        for inside in ["https://10.1.2.3/x", "https://169.254.169.254/x", "https://[fc00::1]/x"] {
            assert!(check_url(inside, false).is_err(), "{inside}");
        }
        assert_eq!(check_url("https://93.184.215.14/x", false), Ok(()));
    }

    #[test]
    fn an_address_is_looked_at_however_it_is_written() {
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
    fn a_signature_is_over_time_and_body() {
        // openssl: printf '1700000000.{}' | openssl dgst -sha256 -hmac secret
        assert_eq!(
            signature("secret", "1700000000", "{}"),
            "sha256=b8569b78799ff9e3cbff0fc2d63a33a2b57f3282abd07c37ae5e8e7d79a5f163"
        );
    }
}
