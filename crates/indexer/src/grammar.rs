//! Definitions of each language for the chunker.

mod names;
mod rules;

use std::sync::LazyLock;

use tree_sitter::{Language, Node};

/// Reads the name of a definition from its node; `None` if the node defines nothing.
pub(crate) type NameOf = fn(Node<'_>, &str) -> Option<String>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Contains definitions, which its name qualifies (a class). Cuts are best between them.
    Container,
    /// A unit that is not cut if it fits into a chunk (a function).
    Definition,
    /// Contains definitions without qualifying their names (an include guard).
    Transparent,
    /// Qualifies the rest of the file, unless it has a body (a PHP namespace).
    Package,
}

/// Rule for one kind of node of a grammar.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rule {
    /// Name of the node in the grammar.
    pub node: &'static str,
    /// Kind of symbol; empty if the node only qualifies names (a Rust `impl`).
    pub kind: &'static str,
    pub role: Role,
    /// Separator between the enclosing name and this one.
    pub separator: &'static str,
    /// Separator that replaces the one of the methods inside (`class << self`).
    pub separator_inside: Option<&'static str>,
    pub name: NameOf,
}

impl Rule {
    const fn new(
        node: &'static str,
        kind: &'static str,
        role: Role,
        separator: &'static str,
    ) -> Self {
        Self { node, kind, role, separator, separator_inside: None, name: names::field }
    }

    const fn with_name(self, name: NameOf) -> Self {
        Self { name, ..self }
    }

    const fn with_separator_inside(self, separator: &'static str) -> Self {
        Self { separator_inside: Some(separator), ..self }
    }
}

/// Creates the rule of a container that is a symbol itself.
const fn container(node: &'static str, kind: &'static str, separator: &'static str) -> Rule {
    Rule::new(node, kind, Role::Container, separator)
}

/// Creates the rule of a definition.
const fn definition(node: &'static str, kind: &'static str, separator: &'static str) -> Rule {
    Rule::new(node, kind, Role::Definition, separator)
}

/// Creates the rule of a node that only contains definitions.
const fn transparent(node: &'static str) -> Rule {
    Rule::new(node, "", Role::Transparent, "").with_name(names::none)
}

/// Grammar with its rules by the id of the node kind.
pub(crate) struct Grammar {
    pub language: Language,
    rules: &'static [Rule],
    /// Index into `rules` plus one, by node kind id; 0 without a rule.
    by_kind: Vec<u8>,
    /// Whether the node belongs to the definition after it (comments, attributes), by node kind id.
    attached: Vec<bool>,
}

/// Nodes that belong to the definition after them.
const ATTACHED: &[&str] = &["comment", "line_comment", "block_comment", "attribute_item"];

impl Grammar {
    fn new(language: Language, rules: &'static [Rule]) -> Self {
        let kinds = u16::try_from(language.node_kind_count()).unwrap_or(u16::MAX);
        let names: Vec<&str> = (0..kinds)
            .map(|id| {
                let is_named = language.node_kind_is_named(id);
                language.node_kind_for_id(id).filter(|_| is_named).unwrap_or("")
            })
            .collect();
        let by_kind = names
            .iter()
            .map(|name| rules.iter().position(|rule| rule.node == *name))
            .map(|index| {
                index.map_or(0, |index| u8::try_from(index + 1).expect("fewer than 255 rules"))
            })
            .collect();
        let attached = names.iter().map(|name| ATTACHED.contains(name)).collect();
        Self { language, rules, by_kind, attached }
    }

    /// Returns the rule for the node, if there is one.
    pub fn rule(&self, node: Node<'_>) -> Option<&'static Rule> {
        let number = *self.by_kind.get(usize::from(node.kind_id()))?;
        (number > 0).then(|| &self.rules[usize::from(number) - 1])
    }

    /// Returns whether the node belongs to the definition after it.
    pub fn is_attached(&self, node: Node<'_>) -> bool {
        self.attached.get(usize::from(node.kind_id())).copied().unwrap_or(false)
    }
}

/// Declares [`LANGUAGES`] and [`find`] from the grammars and rules of all languages.
macro_rules! grammars {
    ($($name:literal => ($language:expr, $rules:expr)),+ $(,)?) => {
        /// Languages whose files are split along their definitions, by the names that
        /// [`crate::language::detect`] returns. Files of other languages are split by lines.
        pub const LANGUAGES: &[&str] = &[$($name),+];

        /// Finds the grammar of a language, and builds its tables at the first call.
        pub(crate) fn find(language: &str) -> Option<&'static Grammar> {
            match language {
                $($name => {
                    static GRAMMAR: LazyLock<Grammar> =
                        LazyLock::new(|| Grammar::new($language.into(), $rules));
                    Some(&*GRAMMAR)
                })+
                _ => None,
            }
        }
    };
}

grammars! {
    "bash" => (tree_sitter_bash::LANGUAGE, rules::BASH),
    "c" => (tree_sitter_c::LANGUAGE, rules::C),
    "cpp" => (tree_sitter_cpp::LANGUAGE, rules::CPP),
    "csharp" => (tree_sitter_c_sharp::LANGUAGE, rules::CSHARP),
    "go" => (tree_sitter_go::LANGUAGE, rules::GO),
    "java" => (tree_sitter_java::LANGUAGE, rules::JAVA),
    "javascript" => (tree_sitter_javascript::LANGUAGE, rules::JAVASCRIPT),
    "kotlin" => (tree_sitter_kotlin_ng::LANGUAGE, rules::KOTLIN),
    "php" => (tree_sitter_php::LANGUAGE_PHP, rules::PHP),
    "python" => (tree_sitter_python::LANGUAGE, rules::PYTHON),
    "ruby" => (tree_sitter_ruby::LANGUAGE, rules::RUBY),
    "rust" => (tree_sitter_rust::LANGUAGE, rules::RUST),
    "tsx" => (tree_sitter_typescript::LANGUAGE_TSX, rules::TYPESCRIPT),
    "typescript" => (tree_sitter_typescript::LANGUAGE_TYPESCRIPT, rules::TYPESCRIPT),
}

/// Returns whether a language has a grammar, without building its tables: the service itself does
/// not parse.
pub(crate) fn exists(language: &str) -> bool {
    LANGUAGES.contains(&language)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language;

    #[test]
    fn a_language_has_a_grammar_exactly_if_the_parser_finds_one() {
        for name in language::all().chain(LANGUAGES.iter().copied()).chain(["", "Rust", "cobol"]) {
            assert_eq!(exists(name), find(name).is_some(), "{name}");
        }
    }

    #[test]
    fn every_language_with_a_grammar_is_detected() {
        for name in LANGUAGES {
            assert!(language::all().any(|detected| detected == *name), "{name}");
        }
    }

    #[test]
    fn every_node_of_every_table_exists_in_its_grammar() {
        for language in LANGUAGES {
            let grammar = find(language).expect("listed");
            for rule in grammar.rules {
                let id = grammar.language.id_for_node_kind(rule.node, true);
                assert_ne!(id, 0, "{language} has no node {}", rule.node);
            }
        }
    }
}
