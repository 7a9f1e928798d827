use tree_sitter::Node;

use super::{Rule, container, definition, names};

/// `Class.method`, `Class.Companion.method`; the package is left out.
pub(super) const RULES: &[Rule] = &[
    container("class_declaration", "class", "."),
    container("object_declaration", "object", "."),
    container("companion_object", "object", ".").named(companion),
    definition("function_declaration", "function", "."),
    definition("secondary_constructor", "constructor", ".").named(constructor),
    definition("type_alias", "type", ".").named(alias),
];

fn companion(node: Node<'_>, text: &str) -> Option<String> {
    names::field(node, text).or_else(|| Some("Companion".into()))
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of every reader of names")]
fn constructor(_: Node<'_>, _: &str) -> Option<String> {
    Some("constructor".into())
}

fn alias(node: Node<'_>, text: &str) -> Option<String> {
    names::read(node.child_by_field_name("type")?, text)
}
