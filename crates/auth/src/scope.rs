//! What a token may be used for: a closed list of scopes, and sets of them.

use std::fmt;
use std::str::FromStr;

use mc_domain::{Classified, ErrorKind};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One thing that a token may be used for. No scope contains another: a token says each it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Recall, search, and read records.
    MemoryRead,
    /// Save and propose records, give feedback.
    MemoryWrite,
    /// Index repositories and documents.
    Ingest,
    /// Have patches drafted and reviewed; nothing leaves the service.
    Coding,
    /// Push branches, open and merge pull requests.
    GithubWrite,
    /// Change policies, members and keys.
    Admin,
}

impl Scope {
    /// Every scope, in the order in which sets are written.
    pub const ALL: [Self; 6] = [
        Self::MemoryRead,
        Self::MemoryWrite,
        Self::Ingest,
        Self::Coding,
        Self::GithubWrite,
        Self::Admin,
    ];

    /// The word on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MemoryRead => "memory:read",
            Self::MemoryWrite => "memory:write",
            Self::Ingest => "ingest",
            Self::Coding => "coding",
            Self::GithubWrite => "github:write",
            Self::Admin => "admin",
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(word: &str) -> Result<Self, UnknownScope> {
        let known = Self::ALL.into_iter().find(|scope| scope.as_str() == word);
        known.ok_or_else(|| UnknownScope { name: word.chars().take(UnknownScope::SHOWN).collect() })
    }
}

/// A name that is no scope; the message lists the ones that are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown scope {name:?}; use one or more of: {}", Scopes::ALL.to_string().replace(' ', ", "))]
pub struct UnknownScope {
    name: String,
}

impl UnknownScope {
    /// Characters of the name that the message repeats.
    const SHOWN: usize = 64;
}

impl Classified for UnknownScope {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Invalid
    }
}

/// A set of scopes. Its text is the names with one space between (RFC 6749, section 3.3), always in
/// the order of [`Scope::ALL`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Scopes(u8);

impl Scopes {
    /// No scope.
    pub const NONE: Self = Self(0);
    /// Every scope.
    pub const ALL: Self = Self((1 << Scope::ALL.len()) - 1);

    /// Reads names with spaces between, in any order; an empty text is the empty set.
    pub fn parse(text: &str) -> Result<Self, UnknownScope> {
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

    /// What is in both: the way to grant, since nobody gives more than they have.
    pub fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether the set has no scope.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The scopes of the set, in the order of [`Scope::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.contains(*scope))
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
    type Err = UnknownScope;

    fn from_str(text: &str) -> Result<Self, UnknownScope> {
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
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_set_is_written_in_one_order_only() {
        let scopes = Scopes::parse("admin memory:read  memory:read").expect("known scopes");
        assert_eq!(scopes.to_string(), "memory:read admin");
        assert_eq!(Scopes::parse("").expect("the empty set"), Scopes::NONE);
    }

    #[test]
    fn an_unknown_scope_is_named() {
        let error = Scopes::parse("ingest memory:delete").expect_err("no such scope").to_string();
        assert!(error.contains("\"memory:delete\""), "{error}");
        assert!(error.contains("memory:read, memory:write, ingest, coding"), "{error}");
    }

    #[test]
    fn names_are_compared_exactly() {
        for name in ["Admin", "memory:read\n", "memory", "memory:*", "admin,ingest", "ADMIN"] {
            assert!(Scopes::parse(name).is_err(), "{name:?}");
        }
    }

    fn any_set() -> impl Strategy<Value = Scopes> {
        (0..=Scopes::ALL.0).prop_map(Scopes)
    }

    proptest! {
        #[test]
        fn nobody_grants_more_than_they_have(asked in any_set(), own in any_set()) {
            let granted = asked.intersection(own);
            prop_assert!(granted.is_subset_of(own) && granted.is_subset_of(asked));
            prop_assert!(granted.iter().all(|scope| own.contains(scope)));
        }

        #[test]
        fn a_set_reads_back_from_its_text_and_its_json(scopes in any_set()) {
            prop_assert_eq!(Scopes::parse(&scopes.to_string()), Ok(scopes));
            let json = serde_json::to_string(&scopes).expect("JSON");
            prop_assert_eq!(serde_json::from_str::<Scopes>(&json).expect("a set"), scopes);
        }
    }
}
