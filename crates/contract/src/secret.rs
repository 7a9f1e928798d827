//! Secrets that a request brings.

use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};
use zeroize::Zeroizing;

use crate::{limits, schema};

/// The secret that signs a webhook's deliveries: visible ASCII characters without blanks. It is
/// never printed, and its memory is cleared.
#[derive(Clone)]
pub struct WebhookSecret(Zeroizing<String>);

impl WebhookSecret {
    /// The secret, for encryption.
    pub fn into_inner(self) -> Zeroizing<String> {
        self.0
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WebhookSecret(..)")
    }
}

impl<'de> Deserialize<'de> for WebhookSecret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let secret = Zeroizing::new(String::deserialize(deserializer)?);
        let is_visible = secret.bytes().all(|byte| byte.is_ascii_graphic());
        if limits::WEBHOOK_SECRET.contains(&secret.len()) && is_visible {
            return Ok(Self(secret));
        }
        let (min, max) = (limits::WEBHOOK_SECRET.start(), limits::WEBHOOK_SECRET.end());
        Err(D::Error::custom(format!(
            "must be {min} to {max} visible ASCII characters without blanks"
        )))
    }
}

impl PartialSchema for WebhookSecret {
    fn schema() -> RefOr<Schema> {
        let (min, max) = (limits::WEBHOOK_SECRET.start(), limits::WEBHOOK_SECRET.end());
        schema::string()
            .pattern(Some(format!("^[!-~]{{{min},{max}}}$")))
            .description(Some(
                "The secret that signs deliveries: visible ASCII characters without blanks.",
            ))
            .into()
    }
}

impl ToSchema for WebhookSecret {}
