use super::{Rule, container, definition, transparent};

/// `Class.method`; a function inside a function is `outer.inner`.
pub(super) const RULES: &[Rule] = &[
    container("class_definition", "class", "."),
    definition("function_definition", "function", "."),
    transparent("decorated_definition"),
];
