//! Texts with placeholders.

use mc_domain::shorten;

use crate::suggestion::list;

/// A value that the caller of a schema supplies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placeholder {
    /// `{task}`: the task.
    Task,
    /// `{path}`: the place in the repository.
    Path,
    /// `{symbols}`: names of definitions.
    Symbols,
}

impl Placeholder {
    const ALL: [Self; 3] = [Self::Task, Self::Path, Self::Symbols];

    /// Returns the name between the braces.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Path => "path",
            Self::Symbols => "symbols",
        }
    }

    /// Returns the words for a value that the caller did not supply.
    pub fn generic(self) -> &'static str {
        match self {
            Self::Task => "the task",
            Self::Path => "the path",
            Self::Symbols => "the symbols",
        }
    }
}

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text of the schema.
    Text(String),
    /// A value of the caller.
    Placeholder(Placeholder),
}

/// A text of a schema in which `{task}`, `{path}` and `{symbols}` stand for values of the caller.
///
/// - A brace, a letter or `_`, any of letters, digits and `_ . : / @ # $ -`, and a brace (`{task}`,
///   `{env.TOKEN}`, `{memory_bundle:other}`) have the form of a placeholder. It must be one of the
///   three, so that no schema requests other data.
/// - `{{` is one literal `{`: `{{task}` is the text `{task}`. `}` has no special meaning.
/// - All other braces are literal: `{ }`, `{}`, `{1, 2}`, `{ task }`, `{"a": {"b": 1}}`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template {
    source: String,
    pieces: Vec<Piece>,
}

impl Template {
    /// Parses a text. The error names the unknown placeholder, and those that exist.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(start) = rest.find('{') {
            let (before, braced) = rest.split_at(start);
            literal.push_str(before);
            rest = if let Some(after) = braced.strip_prefix("{{") {
                literal.push('{');
                after
            } else if let Some(name) = placeholder_form(braced) {
                push_text(&mut pieces, &mut literal);
                pieces.push(Piece::Placeholder(find(name)?));
                &braced[name.len() + 2..]
            } else {
                literal.push('{');
                &braced[1..]
            };
        }
        literal.push_str(rest);
        push_text(&mut pieces, &mut literal);
        Ok(Self { source: text.to_owned(), pieces })
    }

    /// Returns the pieces in their order.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Returns the placeholders, with repetitions.
    pub(crate) fn placeholders(&self) -> impl Iterator<Item = Placeholder> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Placeholder(placeholder) => Some(*placeholder),
            Piece::Text(_) => None,
        })
    }

    /// Returns the text as it is in the file.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the text without values: `the task` for `{task}`.
    pub fn generic(&self) -> String {
        let text = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.as_str(),
            Piece::Placeholder(placeholder) => placeholder.generic(),
        });
        text.collect()
    }
}

fn push_text(pieces: &mut Vec<Piece>, literal: &mut String) {
    if !literal.is_empty() {
        pieces.push(Piece::Text(std::mem::take(literal)));
    }
}

/// Returns the name in a text that begins with the form of a placeholder.
fn placeholder_form(braced: &str) -> Option<&str> {
    let inner = braced.strip_prefix('{')?;
    let is_name = |c: char| c.is_alphanumeric() || "_.:/@#$-".contains(c);
    let end = inner.find(|c| !is_name(c))?;
    let starts_as_name = inner.starts_with(|c: char| c.is_alphabetic() || c == '_');
    (starts_as_name && inner[end..].starts_with('}')).then(|| &inner[..end])
}

fn find(name: &str) -> Result<Placeholder, String> {
    let known = Placeholder::ALL.into_iter().find(|known| known.as_str() == name);
    known.ok_or_else(|| {
        let shown = shorten(name, 60);
        let names: Vec<_> =
            Placeholder::ALL.iter().map(|p| format!("{{{}}}", p.as_str())).collect();
        format!(
            "contains the placeholder `{{{shown}}}`; allowed are {}. For a literal brace, write \
             `{{{{`",
            list(names.iter().map(String::as_str))
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Piece {
        Piece::Text(text.to_owned())
    }

    #[test]
    fn placeholders_are_recognized() {
        let template = Template::parse("{task} at {path}:{symbols}.").expect("a template");
        let expected = [
            Piece::Placeholder(Placeholder::Task),
            text(" at "),
            Piece::Placeholder(Placeholder::Path),
            text(":"),
            Piece::Placeholder(Placeholder::Symbols),
            text("."),
        ];
        assert_eq!(template.pieces(), expected);
        assert_eq!(template.generic(), "the task at the path:the symbols.");
        assert_eq!(template.source(), "{task} at {path}:{symbols}.");
    }

    #[test]
    fn other_braces_are_literal() {
        for (source, literal) in [
            ("", ""),
            ("{ }", "{ }"),
            ("{}", "{}"),
            ("{1, 2}", "{1, 2}"),
            ("{ task }", "{ task }"),
            ("{\"a\": {\"b\": 1}}", "{\"a\": {\"b\": 1}}"),
            ("if x {y();}", "if x {y();}"),
            ("a{2,3} {task", "a{2,3} {task"),
            ("{{task}", "{task}"),
            ("{{{ task", "{{ task"),
            ("{{{{", "{{"),
            ("${{env.TOKEN}", "${env.TOKEN}"),
            ("} }} {", "} }} {"),
            ("{task\u{200b}}", "{task\u{200b}}"),
        ] {
            let template = Template::parse(source).expect(source);
            assert_eq!(template.generic(), literal, "{source}");
            assert_eq!(template.placeholders().count(), 0, "{source}");
            assert_eq!(template.source(), source);
        }
    }

    #[test]
    fn other_data_cannot_be_requested() {
        for name in [
            "project:other",
            "memory_bundle:other",
            "memory_bundle",
            "env.TOKEN",
            "task:other",
            "Task",
            "tasks",
            "t\u{430}sk",
            "_",
            "file:///etc/passwd",
            "a@b",
        ] {
            let error = Template::parse(&format!("Use {{{name}}}.")).expect_err(name);
            assert!(error.contains(&format!("`{{{name}}}`")), "{error}");
            assert!(error.contains("`{task}`, `{path}`, `{symbols}`"), "{error}");
        }
    }

    #[test]
    fn braces_take_linear_time() {
        let text = "{a".repeat(500_000);
        assert_eq!(Template::parse(&text).map(|template| template.generic()), Ok(text));
    }
}
