use tree_sitter::Node;

use super::{Rule, container, definition, names};

/// Names like `Class.method` and `Class.Companion.method`, without the package.
pub(super) const RULES: &[Rule] = &[
    container("class_declaration", "class", "."),
    container("object_declaration", "object", "."),
    container("companion_object", "object", ".").with_name(companion),
    definition("function_declaration", "function", "."),
    definition("secondary_constructor", "constructor", ".").with_name(constructor),
    definition("type_alias", "type", ".").with_name(alias),
];

fn companion(node: Node<'_>, text: &str) -> Option<String> {
    names::field(node, text).or_else(|| Some("Companion".into()))
}

#[expect(clippy::unnecessary_wraps, reason = "has the signature of NameOf")]
fn constructor(_: Node<'_>, _: &str) -> Option<String> {
    Some("constructor".into())
}

fn alias(node: Node<'_>, text: &str) -> Option<String> {
    names::read(node.child_by_field_name("type")?, text)
}
