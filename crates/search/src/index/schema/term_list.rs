//! Terms of a field as one text, which a tokenizer of the index splits again.
//!
//! tantivy keeps its own type for terms, `PreTokenizedString`, as JSON until the document is
//! indexed. This takes more than a hundred bytes for each term, and a third of the indexing time.

use tantivy::Index;
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// Name of the tokenizer in the schema.
pub const TOKENIZER: &str = "term_list";
/// Ends the prefix and each term. Terms have letters, digits and connectors only.
const END: char = '\n';

/// Registers the tokenizer. An index needs it before it has a writer.
pub fn register(index: &Index) {
    index.tokenizers().register(TOKENIZER, TermList::default());
}

/// Joins terms, and the prefix that each of them gets.
pub fn join<'a>(prefix: &str, terms: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = prefix.to_owned();
    text.push(END);
    for term in terms {
        debug_assert!(!term.contains(END), "{term:?}");
        text.push_str(term);
        text.push(END);
    }
    text
}

/// Tokenizer of joined terms.
#[derive(Debug, Clone, Default)]
struct TermList {
    token: Token,
}

struct Terms<'a> {
    token: &'a mut Token,
    prefix_len: usize,
    rest: &'a str,
}

impl Tokenizer for TermList {
    type TokenStream<'a> = Terms<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Terms<'a> {
        let (prefix, rest) = text.split_once(END).unwrap_or((text, ""));
        self.token.reset();
        // Positions are not indexed, but tantivy adds to them, and the default is the maximum.
        self.token.position = 0;
        self.token.text.push_str(prefix);
        Terms { token: &mut self.token, prefix_len: prefix.len(), rest }
    }
}

impl TokenStream for Terms<'_> {
    fn advance(&mut self) -> bool {
        let Some((term, rest)) = self.rest.split_once(END) else { return false };
        self.rest = rest;
        self.token.text.truncate(self.prefix_len);
        self.token.text.push_str(term);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyzer::analyze;

    fn split(text: &str) -> Vec<String> {
        let mut tokenizer = TermList::default();
        let mut tokens = Vec::new();
        tokenizer.token_stream(text).process(&mut |token: &Token| {
            assert_eq!(token.position, 0);
            tokens.push(token.text.clone());
        });
        tokens
    }

    #[test]
    fn joined_terms_are_split_with_their_prefix() {
        assert_eq!(split(&join("p:", ["wage", "a::b", ""])), ["p:wage", "p:a::b", "p:"]);
        assert_eq!(split(&join("p:", [])), [""; 0]);
        assert_eq!(split(&join("", ["слово"])), ["слово"]);
    }

    #[test]
    fn terms_of_any_text_are_the_same_after_splitting() {
        let text = "a\nb\r\n# 1.2\u{85}x\u{2028}y\u{b}z don't\n'q' 漢字\nかな foo\\n_bar İ\0";
        let lexemes = analyze(text);
        let terms: Vec<&str> = lexemes.iter().map(|lexeme| lexeme.text.as_str()).collect();
        assert!(terms.len() > 10, "{terms:?}");
        assert_eq!(split(&join("", terms.iter().copied())), terms);
    }

    #[test]
    fn a_term_takes_a_byte_more_than_its_text() {
        let terms: Vec<String> = (0..1_000).map(|number: u32| number.to_string()).collect();
        let bytes: usize = terms.iter().map(String::len).sum();
        let joined = join("prefix", terms.iter().map(String::as_str));
        assert_eq!(joined.len(), "prefix\n".len() + bytes + terms.len());
    }
}
