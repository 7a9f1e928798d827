use tree_sitter::Node;

use super::{Role, Rule, container, definition, names, transparent};

/// Names like `Type::method`, without modules, as developers usually refer to methods.
pub(super) const RULES: &[Rule] = &[
    definition("function_item", "function", "::"),
    definition("function_signature_item", "function", "::"),
    definition("struct_item", "struct", "::"),
    definition("enum_item", "enum", "::"),
    definition("union_item", "union", "::"),
    definition("type_item", "type", "::"),
    definition("const_item", "constant", "::"),
    definition("static_item", "constant", "::"),
    definition("macro_definition", "macro", "::"),
    container("trait_item", "trait", "::"),
    Rule::new("impl_item", "", Role::Container, "::").with_name(implementor),
    transparent("mod_item"),
    transparent("foreign_mod_item"),
];

fn implementor(node: Node<'_>, text: &str) -> Option<String> {
    names::read(node.child_by_field_name("type")?, text)
}
