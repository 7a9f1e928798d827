//! What every request has.

use serde::de::DeserializeOwned;

use crate::ValidationError;

/// A request whose fields hold their own rules; [`check`](Request::check) adds those that concern
/// several fields at once. A request is accepted once it is deserialized and checked.
pub trait Request: DeserializeOwned {
    /// Checks the rules between fields.
    fn check(&self) -> Result<(), ValidationError> {
        Ok(())
    }
}
