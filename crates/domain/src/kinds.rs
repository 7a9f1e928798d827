//! Closed vocabularies. Each value has one spelling, on the wire and in the database.

/// The error of a word outside its vocabulary. The message lists the allowed words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {vocabulary} \"{value}\"; use one of: {allowed}")]
pub struct UnknownValue {
    pub(crate) vocabulary: &'static str,
    pub(crate) value: String,
    pub(crate) allowed: String,
}

/// Defines enums, each with the word that errors call it.
macro_rules! vocabularies {
    ($(
        $(#[doc = $doc:literal])+ $name:ident, $title:literal,
        { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }
    )+) => {$(
        $(#[doc = $doc])+
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord,
            serde::Serialize, serde::Deserialize,
        )]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// Every value, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the spelling on the wire and in the database.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                utoipa::openapi::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::Type::String)
                    .enum_values(Some([$($word),+]))
                    .description(Some([$($doc.trim()),+].join(" ")))
                    .into()
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::ToSchema for $name {}

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::kinds::UnknownValue;

            fn from_str(word: &str) -> Result<Self, $crate::kinds::UnknownValue> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err($crate::kinds::UnknownValue {
                        vocabulary: $title,
                        value: word.chars().take(64).collect(),
                        allowed: [$($word),+].join(", "),
                    }),
                }
            }
        }
    )+};
}

pub(crate) use vocabularies;

mod audit;
mod jobs;
mod patches;
mod providers;
mod ranking;
mod records;
mod workspaces;

pub use audit::*;
pub use jobs::*;
pub use patches::*;
pub use providers::*;
pub use ranking::*;
pub use records::*;
pub use workspaces::*;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_parses_back_to_its_value() {
        for kind in RecordKind::ALL {
            assert_eq!(kind.as_str().parse::<RecordKind>().as_ref(), Ok(kind));
        }
        for status in IngestStatus::ALL {
            assert_eq!(status.as_str().parse::<IngestStatus>().as_ref(), Ok(status));
        }
    }

    #[test]
    fn trust_is_ordered_from_untrusted_to_confirmed() {
        let words: Vec<_> = Trust::ALL.iter().map(|trust| trust.as_str()).collect();
        assert_eq!(words, ["untrusted", "imported", "team", "confirmed"]);
        assert!(Trust::ALL.is_sorted());
        assert!(Trust::ALL.iter().all(|trust| trust.as_str().parse() == Ok(*trust)));
    }

    #[test]
    fn unknown_name_error_lists_the_known_names() {
        let error = "hunch".parse::<RecordKind>().expect_err("no kind").to_string();
        assert!(error.contains("\"hunch\""), "{error}");
        assert!(error.contains("fact, fewshot, pattern, adr_link, gotcha, rule"), "{error}");
    }
}
