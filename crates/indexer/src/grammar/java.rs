use super::{Rule, container, definition, transparent};

/// Names like `Class.method`, without the package.
pub(super) const RULES: &[Rule] = &[
    container("class_declaration", "class", "."),
    container("interface_declaration", "interface", "."),
    container("enum_declaration", "enum", "."),
    container("record_declaration", "record", "."),
    container("annotation_type_declaration", "annotation", "."),
    definition("method_declaration", "method", "."),
    definition("constructor_declaration", "constructor", "."),
    definition("compact_constructor_declaration", "constructor", "."),
    transparent("enum_body_declarations"),
];
