//! API key of the server, which is never shown.

use std::fmt;
use std::fs;
use std::path::Path;

/// The key is missing or unusable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place} {defect}")]
pub struct KeyError {
    /// The variable or file.
    place: String,
    defect: String,
}

/// API key with its origin, for the message if the server rejects it.
#[derive(Clone)]
pub struct Key {
    value: Option<String>,
    place: String,
}

impl Key {
    /// Reads the key from the variable if one is configured, else from the file, else none.
    pub fn read(variable: Option<&str>, file: Option<&Path>) -> Result<Self, KeyError> {
        match (variable, file) {
            (Some(name), _) => Self::from_variable(name, std::env::var(name).ok()),
            (None, Some(path)) => Self::from_file(path),
            (None, None) => Ok(Self { value: None, place: "`api_key_env`".to_owned() }),
        }
    }

    fn from_variable(name: &str, value: Option<String>) -> Result<Self, KeyError> {
        let place = format!("the environment variable {name}");
        Self::given(&value.unwrap_or_default(), place)
    }

    fn from_file(path: &Path) -> Result<Self, KeyError> {
        let place = format!("the file {}", path.display());
        match fs::read_to_string(path) {
            Ok(value) => Self::given(&value, place),
            Err(error) => Err(KeyError { place, defect: format!("can't be read: {error}") }),
        }
    }

    fn given(value: &str, place: String) -> Result<Self, KeyError> {
        let value = value.trim().to_owned();
        let is_header_safe = value.bytes().all(|b| b.is_ascii_graphic());
        if value.is_empty() || !is_header_safe {
            let defect = "holds no usable key; put the server's API key there".to_owned();
            return Err(KeyError { place, defect });
        }
        Ok(Self { value: Some(value), place })
    }

    /// Returns the key, if the server needs one.
    pub fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }

    /// Returns what to do if the server rejects the key.
    pub fn remedy(&self) -> String {
        match self.value {
            Some(_) => format!("put a valid key into {} and restart", self.place),
            None => format!("it wants one: name the variable that holds it in {}", self.place),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("place", &self.place).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_hides_the_key() {
        let key = Key::from_variable("EMBEDDING_KEY", Some("sesame\n".into())).expect("a key");
        assert_eq!(key.value(), Some("sesame"));
        assert!(!format!("{key:?} {}", key.remedy()).contains("sesame"));
    }

    #[test]
    fn missing_key_error_names_its_source() {
        for value in [None, Some(String::new()), Some("two words".to_owned())] {
            let error = Key::from_variable("EMBEDDING_KEY", value).expect_err("no key");
            assert!(error.to_string().contains("environment variable EMBEDDING_KEY"), "{error}");
        }
        let error = Key::from_file(Path::new("/nowhere/key")).expect_err("no file");
        assert!(error.to_string().contains("/nowhere/key"), "{error}");
    }
}
