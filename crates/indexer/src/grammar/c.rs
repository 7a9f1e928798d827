use super::{Rule, definition, names, transparent};

/// Unqualified names: C has no qualified ones.
pub(super) const RULES: &[Rule] = &[
    definition("function_definition", "function", "").with_name(names::declarator),
    definition("declaration", "function", "").with_name(names::prototype),
    definition("struct_specifier", "struct", "").with_name(names::with_body),
    definition("union_specifier", "union", "").with_name(names::with_body),
    definition("enum_specifier", "enum", "").with_name(names::with_body),
    definition("type_definition", "type", "").with_name(names::declarator),
    definition("preproc_function_def", "macro", ""),
    transparent("preproc_ifdef"),
    transparent("preproc_if"),
    transparent("preproc_else"),
    transparent("preproc_elif"),
    transparent("linkage_specification"),
];
