//! What the cutter has to know of a language: one small table each, in the file of its name.

mod bash;
mod c;
mod cpp;
mod csharp;
mod go;
mod java;
mod javascript;
mod kotlin;
mod names;
mod php;
mod python;
mod ruby;
mod rust;
mod typescript;

use std::sync::LazyLock;

use tree_sitter::{Language, Node};

/// Reads the name of a definition from its node; `None` where this node defines nothing.
pub(crate) type NameOf = fn(Node<'_>, &str) -> Option<String>;

/// What a node is to its surroundings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Holds definitions that are qualified by its name (a class); best cut between them.
    Container,
    /// A unit that is kept whole where it fits (a function).
    Definition,
    /// Holds definitions without lending them a name (an include guard).
    Transparent,
    /// Names what follows it, up to the end of the file, unless it has a body of its own (a PHP
    /// namespace).
    Package,
}

/// One kind of node of one grammar.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rule {
    /// The grammar's name of the node.
    pub node: &'static str,
    /// The kind of symbol; empty where the node lends its name and is no symbol (a Rust `impl`).
    pub kind: &'static str,
    pub role: Role,
    /// What stands between the enclosing name and this one.
    pub joint: &'static str,
    /// Replaces the joint of the methods inside (`class << self`).
    pub joint_inside: Option<&'static str>,
    pub name: NameOf,
}

impl Rule {
    const fn new(node: &'static str, kind: &'static str, role: Role, joint: &'static str) -> Self {
        Self { node, kind, role, joint, joint_inside: None, name: names::field }
    }

    const fn named(self, name: NameOf) -> Self {
        Self { name, ..self }
    }

    const fn joining_inside(self, joint: &'static str) -> Self {
        Self { joint_inside: Some(joint), ..self }
    }
}

/// A container that is a symbol itself.
const fn container(node: &'static str, kind: &'static str, joint: &'static str) -> Rule {
    Rule::new(node, kind, Role::Container, joint)
}

/// A definition.
const fn definition(node: &'static str, kind: &'static str, joint: &'static str) -> Rule {
    Rule::new(node, kind, Role::Definition, joint)
}

/// A node that only holds definitions.
const fn transparent(node: &'static str) -> Rule {
    Rule::new(node, "", Role::Transparent, "").named(names::none)
}

/// A grammar and its rules, looked up by the node's number.
pub(crate) struct Grammar {
    pub language: Language,
    rules: &'static [Rule],
    /// Index into `rules` plus one, by node kind id; 0 where there is none.
    by_kind: Vec<u8>,
    /// Whether the node belongs to what follows it (comments, attributes), by node kind id.
    clings: Vec<bool>,
}

/// Nodes that belong to the definition below them.
const CLINGING: &[&str] = &["comment", "line_comment", "block_comment", "attribute_item"];

impl Grammar {
    fn new(language: Language, rules: &'static [Rule]) -> Self {
        let kinds = u16::try_from(language.node_kind_count()).unwrap_or(u16::MAX);
        let names: Vec<&str> = (0..kinds)
            .map(|id| {
                let named = language.node_kind_is_named(id);
                language.node_kind_for_id(id).filter(|_| named).unwrap_or("")
            })
            .collect();
        let by_kind = names
            .iter()
            .map(|name| rules.iter().position(|rule| rule.node == *name))
            .map(|place| {
                place.map_or(0, |place| u8::try_from(place + 1).expect("fewer than 255 rules"))
            })
            .collect();
        let clings = names.iter().map(|name| CLINGING.contains(name)).collect();
        Self { language, rules, by_kind, clings }
    }

    /// The rule for the node, if it matters.
    pub fn rule(&self, node: Node<'_>) -> Option<&'static Rule> {
        let place = *self.by_kind.get(usize::from(node.kind_id()))?;
        (place > 0).then(|| &self.rules[usize::from(place) - 1])
    }

    /// Whether the node belongs to what follows it.
    pub fn clings(&self, node: Node<'_>) -> bool {
        self.clings.get(usize::from(node.kind_id())).copied().unwrap_or(false)
    }
}

/// The grammar of a language as [`crate::language::detect`] names it; `None`: cut by lines.
pub(crate) fn of(language: &str) -> Option<&'static Grammar> {
    macro_rules! grammars {
        ($($name:literal => ($language:expr, $rules:expr)),+ $(,)?) => {
            match language {
                $($name => {
                    static GRAMMAR: LazyLock<Grammar> =
                        LazyLock::new(|| Grammar::new($language.into(), $rules));
                    Some(&*GRAMMAR)
                })+
                _ => None,
            }
        };
    }
    grammars! {
        "bash" => (tree_sitter_bash::LANGUAGE, bash::RULES),
        "c" => (tree_sitter_c::LANGUAGE, c::RULES),
        "cpp" => (tree_sitter_cpp::LANGUAGE, cpp::RULES),
        "csharp" => (tree_sitter_c_sharp::LANGUAGE, csharp::RULES),
        "go" => (tree_sitter_go::LANGUAGE, go::RULES),
        "java" => (tree_sitter_java::LANGUAGE, java::RULES),
        "javascript" => (tree_sitter_javascript::LANGUAGE, javascript::RULES),
        "kotlin" => (tree_sitter_kotlin_ng::LANGUAGE, kotlin::RULES),
        "php" => (tree_sitter_php::LANGUAGE_PHP, php::RULES),
        "python" => (tree_sitter_python::LANGUAGE, python::RULES),
        "ruby" => (tree_sitter_ruby::LANGUAGE, ruby::RULES),
        "rust" => (tree_sitter_rust::LANGUAGE, rust::RULES),
        "tsx" => (tree_sitter_typescript::LANGUAGE_TSX, typescript::RULES),
        "typescript" => (tree_sitter_typescript::LANGUAGE_TYPESCRIPT, typescript::RULES),
    }
}

/// Languages that are cut along their syntax.
#[cfg(test)]
pub(crate) const PARSED: &[&str] = &[
    "bash",
    "c",
    "cpp",
    "csharp",
    "go",
    "java",
    "javascript",
    "kotlin",
    "php",
    "python",
    "ruby",
    "rust",
    "tsx",
    "typescript",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_of_every_table_exists_in_its_grammar() {
        for language in PARSED {
            let grammar = of(language).expect("listed");
            for rule in grammar.rules {
                let id = grammar.language.id_for_node_kind(rule.node, true);
                assert_ne!(id, 0, "{language} has no node {}", rule.node);
            }
        }
    }
}
