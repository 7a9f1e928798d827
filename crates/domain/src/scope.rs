//! OAuth scopes of tokens: a closed list, and sets of them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::kinds::{UnknownValue, vocabularies};

vocabularies! {
    /// A scope of a token. No scope includes another: a token lists each one.
    Scope, "scope", {
        /// Recall, search, and read records.
        MemoryRead = "memory:read",
        /// Save and propose records, give feedback.
        MemoryWrite = "memory:write",
        /// Index repositories at public https URLs, and documents.
        Ingest = "ingest",
        /// With [`Scope::Ingest`], of a service administrator: index directories of the service's
        /// machine, `file:` and ssh URLs, and hosts of its private network.
        IngestLocal = "ingest:local",
        /// Draft and review patches; nothing leaves the service.
        Coding = "coding",
        /// Push branches, open and merge pull requests.
        GithubWrite = "github:write",
        /// Change policies, members and keys.
        Admin = "admin",
    }
}

impl Scope {
    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A set of scopes. Its text is the names separated by single spaces (RFC 6749, section 3.3), in
/// the order of [`Scope::ALL`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Scopes(u8);

impl Scopes {
    /// No scope.
    pub const NONE: Self = Self(0);
    /// Every scope.
    pub const ALL: Self = Self((1 << Scope::ALL.len()) - 1);
    /// Scopes that the approval of a login grants only if it names them, since they allow more than
    /// daily work.
    pub const BY_NAME_ONLY: Self = Self(Scope::IngestLocal.bit() | Scope::Admin.bit());

    /// Parses names separated by spaces, in any order; an empty text is the empty set.
    pub fn parse(text: &str) -> Result<Self, UnknownValue> {
        text.split(' ').filter(|name| !name.is_empty()).map(str::parse).collect()
    }

    /// Whether `scope` is in the set.
    pub fn contains(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    /// Whether every scope of this set is in `other` too.
    pub fn is_subset_of(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Returns the scopes in both sets. A grant is an intersection, so it never exceeds the
    /// grantor's own scopes.
    pub fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the scopes of the set that are not in `other`.
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether the set has no scope.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Iterates over the scopes in the order of [`Scope::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.iter().copied().filter(move |scope| self.contains(*scope))
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | scope.bit()))
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(Scope::as_str).collect();
        f.write_str(&names.join(" "))
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Scope::as_str)).finish()
    }
}

impl FromStr for Scopes {
    type Err = UnknownValue;

    fn from_str(text: &str) -> Result<Self, UnknownValue> {
        Self::parse(text)
    }
}

impl Serialize for Scopes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Scopes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scope_set_has_one_canonical_text() {
        let scopes = Scopes::parse("admin memory:read  memory:read").expect("known scopes");
        assert_eq!(scopes.to_string(), "memory:read admin");
        assert_eq!(Scopes::parse("").expect("the empty set"), Scopes::NONE);
    }

    #[test]
    fn unknown_scope_error_names_the_scope() {
        let error = Scopes::parse("ingest memory:delete").expect_err("no such scope").to_string();
        assert!(error.contains("\"memory:delete\""), "{error}");
        let names = "memory:read, memory:write, ingest, ingest:local, coding";
        assert!(error.contains(names), "{error}");
    }

    #[test]
    fn scopes_beyond_daily_work_are_granted_by_name_only() {
        assert_eq!(Scopes::BY_NAME_ONLY.to_string(), "ingest:local admin");
        let daily = Scopes::ALL.without(Scopes::BY_NAME_ONLY);
        assert_eq!(daily.to_string(), "memory:read memory:write ingest coding github:write");
    }

    #[test]
    fn scope_names_match_exactly() {
        for name in ["Admin", "memory:read\n", "memory", "memory:*", "admin,ingest", "ADMIN"] {
            assert!(Scopes::parse(name).is_err(), "{name:?}");
        }
    }

    fn every_set() -> impl Iterator<Item = Scopes> + Clone {
        (0..=Scopes::ALL.0).map(Scopes)
    }

    #[test]
    fn intersection_grants_only_own_scopes() {
        for requested in every_set() {
            for own in every_set() {
                let granted = requested.intersection(own);
                assert!(granted.is_subset_of(own) && granted.is_subset_of(requested));
                assert!(granted.iter().all(|scope| own.contains(scope)));
            }
        }
    }

    #[test]
    fn scope_set_parses_back_from_text_and_json() {
        for scopes in every_set() {
            assert_eq!(Scopes::parse(&scopes.to_string()), Ok(scopes));
            let json = serde_json::to_string(&scopes).expect("JSON");
            assert_eq!(serde_json::from_str::<Scopes>(&json).expect("a set"), scopes);
        }
    }
}
