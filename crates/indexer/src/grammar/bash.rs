use super::{Rule, definition};

/// Names of functions.
pub(super) const RULES: &[Rule] = &[definition("function_definition", "function", "")];
