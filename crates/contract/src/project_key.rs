//! The key of a project in a request.

use std::ops::Deref;

use mc_domain::ProjectKey as Key;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::{Violation, rules, schema};

/// A project's key; compared and stored in lower case. It must not look like a secret: keys are
/// repeated in errors and logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectKey(Key);

impl ProjectKey {
    /// Accepts a key of a project.
    pub fn parse(text: &str) -> Result<Self, Violation> {
        rules::project_key(text).map(Self)
    }

    /// Returns the valid key.
    pub fn into_inner(self) -> Key {
        self.0
    }
}

impl Deref for ProjectKey {
    type Target = Key;

    fn deref(&self) -> &Key {
        &self.0
    }
}

impl Serialize for ProjectKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.as_str())
    }
}

impl<'de> Deserialize<'de> for ProjectKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl PartialSchema for ProjectKey {
    fn schema() -> RefOr<Schema> {
        schema::text(Key::MAX_LEN)
            .pattern(Some("^[A-Za-z0-9][A-Za-z0-9._-]*$"))
            .description(Some("A project's key; compared and stored in lower case."))
            .into()
    }
}

impl ToSchema for ProjectKey {}
