//! Parsing a note for comparison.

use std::collections::{BTreeSet, HashSet};

use crate::normalize::normalize;
use crate::text::{Token, fold, tokenize};

/// The parts of a note that decide whether another says the same.
#[derive(Debug, Clone)]
pub struct ParsedNote {
    /// Content words in order, each stem once.
    pub words: Vec<Word>,
    /// The stems of the words.
    pub stems: HashSet<String>,
    /// Numbers and identifiers, which distinguish notes of one template.
    pub marks: BTreeSet<String>,
    /// Standalone operators.
    pub symbols: BTreeSet<String>,
    /// Each denial and relation with the word after it, sorted.
    pub frames: Vec<Frame>,
    /// Every token without punctuation, to find another note's marks in.
    pub spelled: BTreeSet<String>,
    text: String,
}

/// A content word.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Word {
    /// Stem, by which words are compared.
    pub stem: String,
    /// Spelling, in lower case.
    pub written: String,
}

/// A negation or relation, and the words that it applies to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frame {
    /// `not`, `before`, `instead` and the like.
    pub operator: &'static str,
    /// The next content word's stem, number or identifier; empty at the end of the note.
    pub object: String,
}

impl ParsedNote {
    /// Parses `text`.
    pub fn read(text: &str) -> Self {
        let tokens = tokenize(text);
        let mut note = Self {
            words: Vec::new(),
            stems: HashSet::new(),
            marks: BTreeSet::new(),
            symbols: BTreeSet::new(),
            frames: frames(&tokens),
            spelled: BTreeSet::new(),
            text: text.to_owned(),
        };
        for token in tokens {
            note.add(token);
        }
        note
    }

    fn add(&mut self, token: Token) {
        match token {
            Token::Word { stem, written } => {
                self.spelled.insert(written.clone());
                if self.stems.insert(stem.clone()) {
                    self.words.push(Word { stem, written });
                }
            }
            Token::Number(mark) | Token::Identifier(mark) => {
                self.spelled.insert(mark.clone());
                self.marks.insert(mark);
            }
            Token::Stop(word) => {
                self.spelled.insert(word);
            }
            Token::Symbol(symbol) => {
                self.symbols.insert(symbol);
            }
            Token::Negation | Token::Relation(_) => {}
        }
    }

    /// Returns the note's text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns texts in double quotes, normalized. Computed on demand, as most notes differ before.
    pub fn quoted(&self) -> BTreeSet<String> {
        let folded = fold(&self.text);
        let inner =
            folded.split('"').enumerate().filter(|(at, _)| at % 2 == 1).map(|(_, quote)| quote);
        inner.map(normalize).filter(|quote| !quote.is_empty()).collect()
    }

    /// Returns the whole note, normalized, to find another note's quotes in.
    pub fn normalized(&self) -> String {
        normalize(&self.text)
    }

    /// Returns the number of words and marks: how much the note says.
    pub fn weight(&self) -> usize {
        self.words.len() + self.marks.len()
    }
}

/// Returns a token's text as the object of a frame.
fn object(token: &Token) -> Option<&str> {
    match token {
        Token::Word { stem, .. } => Some(stem),
        Token::Number(text) | Token::Identifier(text) => Some(text),
        Token::Stop(_) | Token::Negation | Token::Relation(_) | Token::Symbol(_) => None,
    }
}

fn frames(tokens: &[Token]) -> Vec<Frame> {
    let operator = |token: &Token| match token {
        Token::Negation => Some("not"),
        Token::Relation(relation) => Some(*relation),
        _ => None,
    };
    let mut frames = Vec::new();
    // From the end, so that the next object is known: a text of denials alone has thousands.
    let mut next = "";
    for token in tokens.iter().rev() {
        if let Some(operator) = operator(token) {
            frames.push(Frame { operator, object: next.to_owned() });
        }
        next = object(token).unwrap_or(next);
    }
    frames.sort();
    frames.dedup();
    frames
}
