//! Parsers of outside text: the public functions that read texts from members, repositories,
//! providers and callers without an account.

mod documents;
mod notes;
mod providers;
mod requests;
mod security;

use crate::growth::families::Family;

/// Longest text of a parser that has no shorter limit of its own, in bytes.
const MAX_BYTES: usize = 4 << 20;
/// Largest document of a request, in bytes.
const MAX_DOCUMENT: usize = 2 << 20;

/// A parser of outside text.
pub struct Parser {
    /// The name in tables.
    pub name: String,
    /// The longest text that it accepts, in bytes.
    pub max_bytes: usize,
    /// Families that it reads in addition to those of text.
    pub own_families: Vec<Family>,
    wrap: fn(&str) -> String,
    parse: Box<dyn Fn(&str) + Send + Sync>,
}

impl Parser {
    /// Creates a parser of any text.
    pub fn new(name: impl Into<String>, parse: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            name: name.into(),
            max_bytes: MAX_BYTES,
            own_families: Vec::new(),
            wrap: str::to_owned,
            parse: Box::new(parse),
        }
    }

    /// Sets the longest text that the service accepts, in bytes.
    fn with_max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }

    /// Sets the families that only this parser reads.
    fn with(self, own_families: Vec<Family>) -> Self {
        Self { own_families, ..self }
    }

    /// Sets the function that puts the text into an input, such as a JSON body. It is not measured.
    fn with_wrapper(self, wrap: fn(&str) -> String) -> Self {
        Self { wrap, ..self }
    }

    /// Returns the input that contains the text.
    pub fn input(&self, text: &str) -> String {
        (self.wrap)(text)
    }

    /// Parses an input.
    pub fn parse(&self, input: &str) {
        (self.parse)(input);
    }
}

/// Returns all parsers.
pub fn all() -> Vec<Parser> {
    let mut parsers = documents::parsers();
    parsers.extend(security::parsers());
    parsers.extend(notes::parsers());
    parsers.extend(providers::parsers());
    parsers.extend(requests::parsers());
    parsers
}

/// Returns a text as a string of JSON.
fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::growth::families::texts;

    #[test]
    fn parsers_and_families_have_unique_names() {
        let (parsers, families) = (all(), texts());
        assert!(families.len() >= 40, "{} families", families.len());
        let names: HashSet<_> = parsers.iter().map(|parser| &parser.name).collect();
        assert_eq!(names.len(), parsers.len());
        for parser in &parsers {
            let all = families.iter().chain(&parser.own_families);
            let names: HashSet<_> = all.clone().map(|family| &family.name).collect();
            assert_eq!(names.len(), all.count(), "{}", parser.name);
        }
    }

    #[test]
    fn every_parser_reads_a_text_of_each_family() {
        for parser in all() {
            for family in texts().iter().chain(&parser.own_families) {
                parser.parse(&parser.input(&family.text(24)));
            }
        }
    }
}
