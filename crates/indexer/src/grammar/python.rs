use super::{Rule, container, definition, transparent};

/// Names like `Class.method`, and `outer.inner` for a function inside a function.
pub(super) const RULES: &[Rule] = &[
    container("class_definition", "class", "."),
    definition("function_definition", "function", "."),
    transparent("decorated_definition"),
];
