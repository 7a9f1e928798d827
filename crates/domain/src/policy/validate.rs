//! Validation of a policy.

use super::{FindingAction, MinimumRoles, Policy, SanitizerPolicy, Toolset};
use crate::kinds::RecordKind;
use crate::role::Role;
use crate::text::check_line;

/// Maximum of every lifetime and retention, in days.
const DAYS_MAX: u16 = 3_650;
/// Minimum retention of the audit, in days: incidents are noticed late.
const AUDIT_DAYS_MIN: u16 = 30;
/// Allowed maximum sizes of a bundle, in tokens.
pub(super) const RECALL_TOKENS: std::ops::RangeInclusive<u32> = 96..=32_000;
/// Maximum of the daily tokens of chat models.
const CHAT_TOKENS_MAX: u32 = 1_000_000_000;
const COMMANDS_MAX: usize = 100;
const COMMAND_CHARS: usize = 200;
const CATEGORIES_MAX: usize = 200;
const URL_CHARS: usize = 2_000;

/// The error of a policy that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} {rule}")]
pub struct InvalidPolicy {
    /// The path of the setting (`ttl_days.fact`).
    pub field: String,
    /// The rule, as the rest of a sentence about the setting.
    pub rule: String,
}

impl Policy {
    /// Checks every setting and returns the first that breaks its rule. The names of categories are
    /// checked by the sanitizer, which knows them.
    pub fn check(&self) -> Result<(), InvalidPolicy> {
        for kind in RecordKind::ALL {
            if let Some(days) = self.ttl_days.of(*kind) {
                check_days(&format!("ttl_days.{kind}"), days, 1)?;
            }
        }
        let retention = &self.retention_days;
        check_days("retention_days.bundles", retention.bundles, 1)?;
        check_days("retention_days.deleted_records", retention.deleted_records, 1)?;
        check_days("retention_days.quarantine", retention.quarantine, 1)?;
        check_days("retention_days.hygiene", retention.hygiene, 1)?;
        check_days("retention_days.audit", retention.audit, AUDIT_DAYS_MIN)?;
        check_days("hygiene.unused_after_days", self.hygiene.unused_after_days, 1)?;
        check_days("hygiene.reindex_after_days", self.hygiene.reindex_after_days, 1)?;
        self.sanitizer.check()?;
        self.min_roles.check()?;
        if !RECALL_TOKENS.contains(&self.tokens.recall) {
            let (min, max) = (RECALL_TOKENS.start(), RECALL_TOKENS.end());
            return invalid("tokens.recall", format!("must be from {min} to {max}"));
        }
        if self.tokens.chat_per_day > CHAT_TOKENS_MAX {
            let rule = format!("must be at most {CHAT_TOKENS_MAX}");
            return invalid("tokens.chat_per_day", rule);
        }
        check_commands(&self.allowed_commands)?;
        if self.mcp_toolsets.len() > Toolset::ALL.len() {
            return invalid("mcp_toolsets", format!("holds more than {}", Toolset::ALL.len()));
        }
        match &self.notifications.webhook_url {
            Some(url) => check_webhook(url),
            None => Ok(()),
        }
    }
}

impl SanitizerPolicy {
    fn check(&self) -> Result<(), InvalidPolicy> {
        if self.secrets == FindingAction::Allow {
            let rule = "can't be allow: name the harmless categories in sanitizer.categories";
            return invalid("sanitizer.secrets", rule);
        }
        if self.categories.len() > CATEGORIES_MAX {
            return invalid("sanitizer.categories", format!("holds more than {CATEGORIES_MAX}"));
        }
        Ok(())
    }
}

impl MinimumRoles {
    fn check(&self) -> Result<(), InvalidPolicy> {
        let all = [
            ("min_roles.save", self.save),
            ("min_roles.review", self.review),
            ("min_roles.confirm", self.confirm),
            ("min_roles.publish", self.publish),
        ];
        match all.into_iter().find(|(_, role)| *role < Role::Member) {
            Some((field, _)) => invalid(field, "must be member, maintainer or admin"),
            None => Ok(()),
        }
    }
}

fn invalid<T>(field: &str, rule: impl Into<String>) -> Result<T, InvalidPolicy> {
    Err(InvalidPolicy { field: field.to_owned(), rule: rule.into() })
}

fn check_days(field: &str, days: u16, min: u16) -> Result<(), InvalidPolicy> {
    if (min..=DAYS_MAX).contains(&days) {
        return Ok(());
    }
    invalid(field, format!("must be from {min} to {DAYS_MAX}"))
}

fn check_commands(commands: &[String]) -> Result<(), InvalidPolicy> {
    if commands.len() > COMMANDS_MAX {
        return invalid("allowed_commands", format!("holds more than {COMMANDS_MAX}"));
    }
    for (index, command) in commands.iter().enumerate() {
        let field = format!("allowed_commands[{index}]");
        if let Err(error) = check_line(command.trim()) {
            return invalid(&field, error.to_string());
        }
        if command.trim().is_empty() || command.chars().count() > COMMAND_CHARS {
            return invalid(&field, format!("must hold 1 to {COMMAND_CHARS} characters"));
        }
    }
    Ok(())
}

/// Checks the form of the URL. The sender checks at each request whether its host is public.
fn check_webhook(url: &str) -> Result<(), InvalidPolicy> {
    const FIELD: &str = "notifications.webhook_url";
    if url.chars().count() > URL_CHARS || check_line(url).is_err() {
        return invalid(FIELD, format!("must be one line of at most {URL_CHARS} characters"));
    }
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let host = rest.unwrap_or_default().split(['/', '?', '#']).next().unwrap_or_default();
    if host.is_empty() || host.contains(char::is_whitespace) {
        return invalid(FIELD, "must be an https URL");
    }
    if host.contains('@') {
        return invalid(
            FIELD,
            "must not contain a user or a password: notifications are signed instead",
        );
    }
    Ok(())
}
