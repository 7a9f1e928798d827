use tree_sitter::Node;

use super::{Rule, container, definition, names, transparent};

/// `Module::Class#method`, and `Module::Class.method` for methods of the class itself.
pub(super) const RULES: &[Rule] = &[
    container("module", "module", "::").named(constant),
    container("class", "class", "::").named(constant),
    transparent("singleton_class").joining_inside("."),
    definition("method", "method", "#"),
    definition("singleton_method", "method", "."),
    definition("assignment", "constant", "::").named(assigned_constant),
];

/// `::Outer::Inner` as `Outer::Inner`.
fn constant(node: Node<'_>, text: &str) -> Option<String> {
    names::field(node, text).map(|name| name.trim_start_matches("::").to_owned())
}

fn assigned_constant(node: Node<'_>, text: &str) -> Option<String> {
    let left = node.child_by_field_name("left")?;
    (left.kind() == "constant").then(|| names::read(left, text)).flatten()
}
