use super::{Rule, container, definition, names, transparent};

/// Names like `ns::Class::method`, for methods that are defined inside or outside of the class.
pub(super) const RULES: &[Rule] = &[
    container("namespace_definition", "namespace", "::"),
    container("class_specifier", "class", "::").with_name(names::with_body),
    container("struct_specifier", "struct", "::").with_name(names::with_body),
    definition("union_specifier", "union", "::").with_name(names::with_body),
    definition("enum_specifier", "enum", "::").with_name(names::with_body),
    definition("function_definition", "function", "::").with_name(names::declarator),
    definition("declaration", "function", "::").with_name(names::prototype),
    definition("field_declaration", "function", "::").with_name(names::prototype),
    definition("alias_declaration", "type", "::"),
    definition("type_definition", "type", "::").with_name(names::declarator),
    definition("concept_definition", "concept", "::"),
    definition("preproc_function_def", "macro", ""),
    transparent("template_declaration"),
    transparent("preproc_ifdef"),
    transparent("preproc_if"),
    transparent("preproc_else"),
    transparent("preproc_elif"),
    transparent("linkage_specification"),
];
