use super::{Rule, definition};

/// Plain names.
pub(super) const RULES: &[Rule] = &[definition("function_definition", "function", "")];
