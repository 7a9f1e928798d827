//! A rule of texts as a value: how a text is checked, and how JSON Schema describes that check.

use utoipa::openapi::schema::{Object, SchemaFormat};

use crate::error::Violation;
use crate::{rules, schema};

/// Accepts a text, in the form in which it is stored.
type Accept = fn(&str) -> Result<String, Violation>;

/// The rule of a type of text.
#[derive(Debug, Clone, Copy)]
pub struct TextRule {
    shape: Shape,
    /// Most characters; 0 where the pattern says it.
    max: usize,
}

#[derive(Debug, Clone, Copy)]
enum Shape {
    Line,
    OptionalLine,
    Identifier,
    MaskedLine,
    Prose,
    /// A line whose rule a format names.
    Special(&'static str, Accept),
    /// A text that a pattern describes.
    Pattern(&'static str, Accept),
}

impl TextRule {
    /// One line of at most `max` characters.
    pub const fn line(max: usize) -> Self {
        Self { shape: Shape::Line, max }
    }

    /// A [`line`](Self::line), or nothing.
    pub const fn optional_line(max: usize) -> Self {
        Self { shape: Shape::OptionalLine, max }
    }

    /// A [`line`](Self::line) without secrets and personal data.
    pub const fn identifier(max: usize) -> Self {
        Self { shape: Shape::Identifier, max }
    }

    /// A [`line`](Self::line) that is masked.
    pub const fn masked_line(max: usize) -> Self {
        Self { shape: Shape::MaskedLine, max }
    }

    /// A text of one or several lines, at most `max` characters.
    pub const fn prose(max: usize) -> Self {
        Self { shape: Shape::Prose, max }
    }

    /// A line under a rule that JSON Schema cannot express; `format` names it there.
    pub const fn special(format: &'static str, max: usize, accept: Accept) -> Self {
        Self { shape: Shape::Special(format, accept), max }
    }

    /// A text that matches `pattern`, of at most `max` characters.
    pub const fn pattern(pattern: &'static str, max: usize, accept: Accept) -> Self {
        Self { shape: Shape::Pattern(pattern, accept), max }
    }

    /// A text that matches `pattern`, which also limits its length.
    pub const fn bare(pattern: &'static str, accept: Accept) -> Self {
        Self { shape: Shape::Pattern(pattern, accept), max: 0 }
    }

    /// Returns `text` as it is stored, or the rule that it breaks.
    pub fn accept(&self, text: &str) -> Result<String, Violation> {
        match self.shape {
            Shape::OptionalLine if text.is_empty() => Ok(String::new()),
            Shape::Line | Shape::OptionalLine => rules::line(text, self.max),
            Shape::Identifier => rules::identifier(text, self.max),
            Shape::MaskedLine => rules::masked_line(text, self.max),
            Shape::Prose => rules::prose(text, self.max),
            Shape::Special(_, accept) | Shape::Pattern(_, accept) => accept(text),
        }
    }

    /// Describes the rule as JSON Schema.
    pub fn schema(&self) -> Object {
        let text = if self.max == 0 { schema::string() } else { schema::text(self.max) };
        match self.shape {
            Shape::Line | Shape::Identifier | Shape::MaskedLine => {
                text.pattern(Some(schema::line_pattern()))
            }
            Shape::OptionalLine => {
                text.min_length(None).pattern(Some(format!("^$|{}", schema::line_pattern())))
            }
            Shape::Prose => text.pattern(Some(schema::prose_pattern())),
            Shape::Special(format, _) => text.format(Some(SchemaFormat::Custom(format.to_owned()))),
            Shape::Pattern(pattern, _) => text.pattern(Some(pattern)),
        }
        .build()
    }
}
