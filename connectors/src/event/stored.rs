//! The stored form of an event, which the service keeps until a job processes the event:
//! `{"version": 1, "kind": "push", ...}`.

use serde::{Deserialize as _, Serialize};
use serde_json::Value;

use super::Event;

/// The version that this program writes.
///
/// A change of [`Event`] that stored events do not satisfy needs the next version.
/// [`Event::decode`] must then convert each earlier version, and `tests/stored_events` must keep
/// their fixtures.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct StoredEvent<'a> {
    version: u32,
    #[serde(flatten)]
    event: &'a Event,
}

/// Why a stored event cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StoredEventError {
    /// A later version of the program wrote the event.
    #[error(
        "the event is stored in version {0}, and this node reads version {VERSION}; upgrade the \
         node"
    )]
    UnknownVersion(u32),
    /// The value is not an event of its version.
    #[error("the stored value is not an event: {0}; have the provider send the delivery again")]
    Malformed(#[from] serde_json::Error),
}

impl Event {
    /// Returns the stored form.
    pub fn encode(&self) -> Value {
        let stored = StoredEvent { version: VERSION, event: self };
        serde_json::to_value(stored).expect("an event has only texts, times and flags")
    }

    /// Reads the stored form of any version up to this program's.
    pub fn decode(stored: &Value) -> Result<Self, StoredEventError> {
        match u32::deserialize(&stored["version"])? {
            VERSION => Ok(Self::deserialize(stored)?),
            found => Err(StoredEventError::UnknownVersion(found)),
        }
    }
}
