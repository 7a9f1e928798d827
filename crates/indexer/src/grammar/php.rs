use super::{Role, Rule, container, definition};

/// Names like `Ns\Class::method` and `Ns\function`.
pub(super) const RULES: &[Rule] = &[
    Rule::new("namespace_definition", "", Role::Package, "\\"),
    container("class_declaration", "class", "\\"),
    container("interface_declaration", "interface", "\\"),
    container("trait_declaration", "trait", "\\"),
    container("enum_declaration", "enum", "\\"),
    definition("method_declaration", "method", "::"),
    definition("function_definition", "function", "\\"),
];
