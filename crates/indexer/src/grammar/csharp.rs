use super::{Rule, container, definition, transparent};

/// Names like `Class.Method`, without the namespace.
pub(super) const RULES: &[Rule] = &[
    transparent("namespace_declaration"),
    container("class_declaration", "class", "."),
    container("struct_declaration", "struct", "."),
    container("interface_declaration", "interface", "."),
    container("record_declaration", "record", "."),
    definition("enum_declaration", "enum", "."),
    definition("delegate_declaration", "delegate", "."),
    definition("method_declaration", "method", "."),
    definition("constructor_declaration", "constructor", "."),
    definition("property_declaration", "property", "."),
    definition("local_function_statement", "function", "."),
];
