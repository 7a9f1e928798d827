//! Text processing for the judge and the distiller: folded characters, tokens, stems, sentences.

pub mod fold;
pub mod sentences;
pub mod stop_phrases;
pub mod token;
pub mod vocabulary;

pub use fold::fold;
pub use sentences::{cut, sentences};
pub use token::{Token, tokenize};
