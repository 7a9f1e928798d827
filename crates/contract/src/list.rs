//! Validated lists: one type for each kind of item and limit.

use mc_domain::RecordId;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, Schema};
use utoipa::{PartialSchema, ToSchema};
use uuid::Uuid;

use crate::text::{
    CommandLine, ErrorSignal, FreeText, PathPattern, ShortText, Symbol, WorkspacePath,
};
use crate::{limits, schema};

macro_rules! lists {
    ($($(#[doc = $doc:literal])+ $name:ident([$item:ty; $max:expr], $schema:expr);)+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
        #[serde(transparent)]
        pub struct $name(Vec<$item>);

        impl $name {
            /// Whether there is no item.
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }

            /// Returns the items.
            pub fn items(&self) -> &[$item] {
                &self.0
            }

            /// The items, each as `T`.
            pub fn into_items<T: From<$item>>(self) -> Vec<T> {
                self.0.into_iter().map(T::from).collect()
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                limited::<{ $max }, _, _>(deserializer).map(Self)
            }
        }

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let list = ArrayBuilder::new().items($schema).max_items(Some($max));
                RefOr::T(schema::described(list, &[$($doc.trim()),+]))
            }
        }

        impl ToSchema for $name {}
    )+};
}

lists! {
    /// Qualified names.
    Symbols([Symbol; limits::SHORT_TEXTS], Symbol::schema());
    /// Short texts, each in one line.
    ShortTexts([ShortText; limits::SHORT_TEXTS], ShortText::schema());
    /// Error messages, lines of logs or stack traces.
    ErrorSignals([ErrorSignal; limits::SHORT_TEXTS], ErrorSignal::schema());
    /// Steps, each of one or several lines.
    Steps([FreeText; 32], FreeText::schema());
    /// Patterns of paths.
    PathPatterns([PathPattern; 100], PathPattern::schema());
    /// Paths in a workspace.
    WorkspacePaths([WorkspacePath; 100], WorkspacePath::schema());
    /// Commands of a dry run, each a program with its arguments.
    CommandLines([CommandLine; 10], CommandLine::schema());
    /// Ids of records.
    RecordIds([RecordId; limits::IDS], RecordId::schema());
    /// Ids of the items of a bundle: records, documents, dialogs or passages of code.
    ItemIds([Uuid; limits::IDS], schema::uuid());
}

/// Deserializes at most `MAX` items, for lists of objects.
pub fn limited<'de, const MAX: usize, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    Ok(Limited::<T, false, MAX>::deserialize(deserializer)?.0)
}

/// Like [`limited`], with at least one item.
pub fn limited_nonempty<'de, const MAX: usize, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    Ok(Limited::<T, true, MAX>::deserialize(deserializer)?.0)
}

/// Like [`limited`], for a list that may be missing or null.
pub fn optional_limited<'de, const MAX: usize, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    Ok(Option::<Limited<T, false, MAX>>::deserialize(deserializer)?.map(|items| items.0))
}

/// Like [`limited_nonempty`], for a list that may be missing or null.
pub fn optional_nonempty<'de, const MAX: usize, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    Ok(Option::<Limited<T, true, MAX>>::deserialize(deserializer)?.map(|items| items.0))
}

/// At most `MAX` items, and with `NONEMPTY` at least one.
struct Limited<T, const NONEMPTY: bool, const MAX: usize>(Vec<T>);

impl<'de, T: Deserialize<'de>, const NONEMPTY: bool, const MAX: usize> Deserialize<'de>
    for Limited<T, NONEMPTY, MAX>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let items = Vec::<T>::deserialize(deserializer)?;
        if items.len() > MAX {
            let count = items.len();
            return Err(D::Error::custom(format!("holds {count} items; the limit is {MAX}")));
        }
        if NONEMPTY && items.is_empty() {
            return Err(D::Error::custom("must hold at least one item"));
        }
        Ok(Self(items))
    }
}
