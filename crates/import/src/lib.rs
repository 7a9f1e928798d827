#![doc = include_str!("../README.md")]

mod adr;
mod format;
mod front_matter;
mod kind;
mod markdown;
mod mem0;
mod note;
mod rules;
mod screen;
mod server_memory;
mod text;

pub use format::{Format, UnknownFormat};
pub use note::{Import, Note, Origin, Reason, Refused};

/// Why a file cannot be read as a whole.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// The file is larger than [`MAX_BYTES`].
    #[error("the file has {0} bytes; at most {MAX_BYTES} are read")]
    TooLarge(usize),
    /// The file is not the JSON that the other program writes.
    #[error("{0}")]
    NotAnExport(String),
}

impl ParseError {
    fn not_json(error: &serde_json::Error) -> Self {
        Self::NotAnExport(format!("the file is not JSON: {error}"))
    }
}

/// Size of the largest file that is read, in bytes.
pub const MAX_BYTES: usize = 4 << 20;

/// Parses a file. `source` names it in origins: its path below the repository's root.
pub fn parse(format: Format, text: &str, source: &str) -> Result<Import, ParseError> {
    if text.len() > MAX_BYTES {
        return Err(ParseError::TooLarge(text.len()));
    }
    let text = text.trim_start_matches('\u{feff}');
    match format {
        Format::Rules => Ok(rules::parse(text, source)),
        Format::Adr => Ok(adr::parse(text, source)),
        Format::Mem0 => mem0::parse(text),
        Format::ServerMemory => server_memory::parse(text),
    }
}
