use super::{Rule, definition, names, transparent};

/// Plain names: C has no enclosing ones.
pub(super) const RULES: &[Rule] = &[
    definition("function_definition", "function", "").named(names::declarator),
    definition("declaration", "function", "").named(names::prototype),
    definition("struct_specifier", "struct", "").named(names::with_body),
    definition("union_specifier", "union", "").named(names::with_body),
    definition("enum_specifier", "enum", "").named(names::with_body),
    definition("type_definition", "type", "").named(names::declarator),
    definition("preproc_function_def", "macro", ""),
    transparent("preproc_ifdef"),
    transparent("preproc_if"),
    transparent("preproc_else"),
    transparent("preproc_elif"),
    transparent("linkage_specification"),
];
