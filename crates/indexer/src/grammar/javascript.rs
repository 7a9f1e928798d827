use tree_sitter::Node;

use super::{Rule, container, definition, names, transparent};

/// Names like `Class.method`, for both instance and static methods.
pub(super) const RULES: &[Rule] = &[
    definition("function_declaration", "function", "."),
    definition("generator_function_declaration", "function", "."),
    container("class_declaration", "class", "."),
    definition("method_definition", "method", "."),
    definition("variable_declarator", "function", ".").with_name(function_variable),
    definition("field_definition", "method", ".").with_name(function_field),
    definition("pair", "method", ".").with_name(function_pair),
    definition("assignment_expression", "function", ".").with_name(function_assigned),
    transparent("export_statement"),
];

const FUNCTIONS: &[&str] =
    &["arrow_function", "function_expression", "generator_function", "class"];

/// Reads the name in `const name = () => ...`.
pub(super) fn function_variable(node: Node<'_>, text: &str) -> Option<String> {
    function_in(node, "value", "name", text)
}

/// Reads the name in `name = () => ...` of a class.
fn function_field(node: Node<'_>, text: &str) -> Option<String> {
    function_in(node, "value", "property", text)
}

/// Reads the name in `name: function () ...` of an object.
pub(super) fn function_pair(node: Node<'_>, text: &str) -> Option<String> {
    function_in(node, "value", "key", text)
}

/// Returns `name` for `exports.name = ...`, and `Type.name` for `Type.prototype.name = ...`.
pub(super) fn function_assigned(node: Node<'_>, text: &str) -> Option<String> {
    let name = function_in(node, "right", "left", text)?;
    let name = ["module.exports.", "exports.", "this."]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(&name);
    Some(name.replace(".prototype.", "."))
}

fn function_in(node: Node<'_>, value: &str, name: &str, text: &str) -> Option<String> {
    let is_function = FUNCTIONS.contains(&node.child_by_field_name(value)?.kind());
    is_function.then(|| names::read(node.child_by_field_name(name)?, text)).flatten()
}
