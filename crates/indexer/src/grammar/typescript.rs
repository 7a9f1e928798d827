use super::javascript::{function_assigned, function_pair, function_variable};
use super::{Rule, container, definition, transparent};

/// Names like `Class.method` and `Namespace.Class.method`.
pub(super) const RULES: &[Rule] = &[
    definition("function_declaration", "function", "."),
    definition("generator_function_declaration", "function", "."),
    definition("function_signature", "function", "."),
    container("class_declaration", "class", "."),
    container("abstract_class_declaration", "class", "."),
    container("interface_declaration", "interface", "."),
    definition("enum_declaration", "enum", "."),
    definition("type_alias_declaration", "type", "."),
    container("internal_module", "namespace", "."),
    container("module", "namespace", "."),
    definition("method_definition", "method", "."),
    definition("method_signature", "method", "."),
    definition("abstract_method_signature", "method", "."),
    definition("variable_declarator", "function", ".").with_name(function_variable),
    definition("public_field_definition", "method", ".").with_name(function_variable),
    definition("pair", "method", ".").with_name(function_pair),
    definition("assignment_expression", "function", ".").with_name(function_assigned),
    transparent("export_statement"),
    transparent("ambient_declaration"),
    transparent("expression_statement"),
];
