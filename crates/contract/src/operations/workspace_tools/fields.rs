//! The fields that a subcommand uses.

use crate::ValidationError;

/// The fields that a subcommand requires, and those that it uses if they are present.
pub(super) type Uses = (&'static [&'static str], &'static [&'static str]);

/// Checks that the fields that are present are those that the subcommand uses.
pub(super) fn check(
    subcommand: &str,
    (required, optional): Uses,
    fields: &[(&'static str, bool)],
) -> Result<(), ValidationError> {
    for (field, is_present) in fields {
        let is_required = required.contains(field);
        if *is_present && !is_required && !optional.contains(field) {
            let rule = format!("is not used by the subcommand {subcommand}; leave it out");
            return Err(ValidationError::new(*field, rule));
        }
        if is_required && !is_present {
            return Err(missing(subcommand, field));
        }
    }
    Ok(())
}

/// Returns a field that the subcommand requires.
pub fn required<'a, T>(
    subcommand: &str,
    field: &'static str,
    value: Option<&'a T>,
) -> Result<&'a T, ValidationError> {
    value.ok_or_else(|| missing(subcommand, field))
}

fn missing(subcommand: &str, field: &'static str) -> ValidationError {
    ValidationError::new(field, format!("is required by the subcommand {subcommand}"))
}
