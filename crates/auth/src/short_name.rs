//! Short names that are safe in URLs, in the database and in configuration.

/// Defines a text of 1 to `$max` of `a-z 0-9` and `$more`, and the error of other texts.
macro_rules! short_name {
    (
        $(#[$doc:meta])* $name:ident, $max:literal, $more:literal,
        $invalid:ident, $message:literal
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[derive(serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(String);

        #[doc = concat!("The error of a text that is not a [`", stringify!($name), "`].")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
        #[error($message)]
        pub struct $invalid;

        impl $name {
            /// Maximum length, in bytes.
            pub const MAX_LEN: usize = $max;

            /// Validates `text` without changing it.
            pub fn parse(text: &str) -> Result<Self, $invalid> {
                let is_allowed =
                    |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || $more.contains(c);
                let fits = (1..=Self::MAX_LEN).contains(&text.len());
                let is_valid = fits && text.chars().all(is_allowed);
                if is_valid { Ok(Self(text.to_owned())) } else { Err($invalid) }
            }

            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = $invalid;

            fn from_str(text: &str) -> Result<Self, $invalid> {
                Self::parse(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = $invalid;

            fn try_from(text: String) -> Result<Self, $invalid> {
                Self::parse(&text)
            }
        }
    };
}

pub(crate) use short_name;
