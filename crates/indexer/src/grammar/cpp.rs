use super::{Rule, container, definition, names, transparent};

/// `ns::Class::method`, whether it is defined inside the class or outside.
pub(super) const RULES: &[Rule] = &[
    container("namespace_definition", "namespace", "::"),
    container("class_specifier", "class", "::").named(names::with_body),
    container("struct_specifier", "struct", "::").named(names::with_body),
    definition("union_specifier", "union", "::").named(names::with_body),
    definition("enum_specifier", "enum", "::").named(names::with_body),
    definition("function_definition", "function", "::").named(names::declarator),
    definition("declaration", "function", "::").named(names::prototype),
    definition("field_declaration", "function", "::").named(names::prototype),
    definition("alias_declaration", "type", "::"),
    definition("type_definition", "type", "::").named(names::declarator),
    definition("concept_definition", "concept", "::"),
    definition("preproc_function_def", "macro", ""),
    transparent("template_declaration"),
    transparent("preproc_ifdef"),
    transparent("preproc_if"),
    transparent("preproc_else"),
    transparent("preproc_elif"),
    transparent("linkage_specification"),
];
