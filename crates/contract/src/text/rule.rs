//! A rule of texts as a value: how a text is checked, and how JSON Schema describes that check.

use utoipa::openapi::schema::{Object, SchemaFormat};

use crate::error::Violation;
use crate::{rules, schema};

/// Accepts a text of at most so many characters, in the form in which it is stored.
type Accept = fn(&str, usize) -> Result<String, Violation>;

/// The rule of a type of text.
#[derive(Debug)]
pub struct TextRule {
    accept: Accept,
    /// Most characters; 0 where the pattern says it.
    max: usize,
    form: Form,
}

/// The rule for a text in JSON Schema.
#[derive(Debug)]
enum Form {
    Line,
    OptionalLine,
    Prose,
    /// Any text.
    Any,
    /// A line whose rule a format names.
    Format(&'static str),
    /// A text that a pattern describes.
    Pattern(&'static str),
}

impl TextRule {
    /// One line of at most `max` characters.
    pub const fn line(max: usize) -> Self {
        Self { accept: rules::line, max, form: Form::Line }
    }

    /// A [`line`](Self::line), or nothing.
    pub const fn optional_line(max: usize) -> Self {
        Self { accept: rules::optional_line, max, form: Form::OptionalLine }
    }

    /// A [`line`](Self::line) without secrets and personal data.
    pub const fn identifier(max: usize) -> Self {
        Self { accept: rules::identifier, max, form: Form::Line }
    }

    /// A [`line`](Self::line) that is masked.
    pub const fn masked_line(max: usize) -> Self {
        Self { accept: rules::masked_line, max, form: Form::Line }
    }

    /// A text of one or several lines, at most `max` characters.
    pub const fn prose(max: usize) -> Self {
        Self { accept: rules::prose, max, form: Form::Prose }
    }

    /// Any text of at most `max` characters, or nothing.
    pub const fn any(max: usize) -> Self {
        Self { accept: rules::any, max, form: Form::Any }
    }

    /// A line under a rule that JSON Schema cannot express; `format` names it there.
    pub const fn special(format: &'static str, max: usize, accept: Accept) -> Self {
        Self { accept, max, form: Form::Format(format) }
    }

    /// A text that matches `pattern`, of at most `max` characters; 0 where the pattern says it.
    pub const fn pattern(pattern: &'static str, max: usize, accept: Accept) -> Self {
        Self { accept, max, form: Form::Pattern(pattern) }
    }

    /// Returns `text` as it is stored, or the rule that it breaks.
    pub fn accept(&self, text: &str) -> Result<String, Violation> {
        (self.accept)(text, self.max)
    }

    /// Describes the rule as JSON Schema.
    pub fn schema(&self) -> Object {
        let text = if self.max == 0 { schema::string() } else { schema::text(self.max) };
        match self.form {
            Form::Line => text.pattern(Some(schema::line_pattern())),
            Form::OptionalLine => {
                text.min_length(None).pattern(Some(format!("^$|{}", schema::line_pattern())))
            }
            Form::Prose => text.pattern(Some(schema::prose_pattern())),
            Form::Any => text.min_length(None),
            Form::Format(format) => text.format(Some(SchemaFormat::Custom(format.to_owned()))),
            Form::Pattern(pattern) => text.pattern(Some(pattern)),
        }
        .build()
    }
}
