use tree_sitter::Node;

use super::{Rule, container, definition, names, transparent};

/// Names like `Module::Class#method`, and `Module::Class.method` for class methods.
pub(super) const RULES: &[Rule] = &[
    container("module", "module", "::").with_name(constant),
    container("class", "class", "::").with_name(constant),
    transparent("singleton_class").with_separator_inside("."),
    definition("method", "method", "#"),
    definition("singleton_method", "method", "."),
    definition("assignment", "constant", "::").with_name(assigned_constant),
];

/// Returns `Outer::Inner` for `::Outer::Inner`.
fn constant(node: Node<'_>, text: &str) -> Option<String> {
    names::field(node, text).map(|name| name.trim_start_matches("::").to_owned())
}

fn assigned_constant(node: Node<'_>, text: &str) -> Option<String> {
    let left = node.child_by_field_name("left")?;
    (left.kind() == "constant").then(|| names::read(left, text)).flatten()
}
