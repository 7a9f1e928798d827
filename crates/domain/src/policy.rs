//! What a project keeps, masks and lets happen. The default is what a project has until somebody sets
//! something else.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::kinds::{RecordKind, vocabulary};
use crate::role::{Permission, Role};
use crate::text::check_line;

vocabulary!(
    /// What is done with a find of the sanitizer, from the mildest to the strictest.
    FindingAction, "action", {
        /// It stays as it is.
        Allow = "allow",
        /// It is replaced by its placeholder.
        Mask = "mask",
        /// The text is kept, encrypted, until a person has decided about it.
        Quarantine = "quarantine",
        /// The text is not taken.
        Reject = "reject",
    }
);

vocabulary!(
    /// Which providers of models may see a project's texts.
    AllowedModels, "providers", {
        /// Whichever the service is set up with.
        Any = "any",
        /// Those on the service's own machine.
        Local = "local",
        /// None: what a model would do for the project is left out.
        Off = "off",
    }
);

vocabulary!(
    /// What is done with what hygiene finds.
    HygieneAction, "action", {
        /// It is not looked for.
        Off = "off",
        /// It is shown to people, who decide.
        Suggest = "suggest",
        /// It is done.
        Merge = "merge",
    }
);

vocabulary!(
    /// What is done with records that help nobody.
    UnusedAction, "action", {
        /// They are not looked for.
        Off = "off",
        /// They are listed.
        Report = "report",
        /// They are set aside: nobody finds them, and a person decides whether they are kept.
        Demote = "demote",
        /// They are taken out.
        Delete = "delete",
    }
);

/// What a project keeps, masks and lets happen.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Days that a record lives after it was saved or last recalled, unless its end was named.
    pub ttl_days: TtlDays,
    /// What is done with secrets, personal data and text that addresses a model.
    pub sanitizer: SanitizerPolicy,
    /// The least role for what a person decides.
    pub min_roles: MinimumRoles,
    /// Days that things are kept.
    pub retention_days: RetentionDays,
    /// What is done by the clock with notes that say the same, or help nobody.
    pub hygiene: HygienePolicy,
    /// Which models may see the project's texts.
    pub models: ModelPolicy,
    /// Limits in tokens.
    pub tokens: TokenLimits,
    /// Commands that a dry run of a patch may start, each by its first words (`cargo test`); at most 100
    /// of 200 characters. Kept for the tools that change code: nothing starts commands yet.
    #[cfg_attr(feature = "openapi", schema(max_items = 100))]
    pub allowed_commands: Vec<String>,
    /// Whom the project tells.
    pub notifications: NotificationPolicy,
    /// What is taken in of what trackers and git hosts tell, and what is written there.
    pub trackers: TrackerPolicy,
}

/// Days that a record of each kind lives: 1 to 3,650. Without a number those of a kind live until somebody says
/// otherwise, as what does not age by itself does unless the policy has it otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "the names of the kinds")]
pub struct TtlDays {
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 3650))]
    #[serde(deserialize_with = "whole")]
    pub fact: u16,
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 3650))]
    #[serde(deserialize_with = "whole")]
    pub fewshot: u16,
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 3650))]
    #[serde(deserialize_with = "whole_or_none")]
    pub pattern: Option<u16>,
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 3650))]
    #[serde(deserialize_with = "whole_or_none")]
    pub adr_link: Option<u16>,
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 3650))]
    #[serde(deserialize_with = "whole_or_none")]
    pub gotcha: Option<u16>,
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 3650))]
    #[serde(deserialize_with = "whole_or_none")]
    pub rule: Option<u16>,
}

/// What is done with what the sanitizer and the guard find in texts that come in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct SanitizerPolicy {
    /// Secrets; `allow` is for single categories only.
    pub secrets: FindingAction,
    /// Personal data.
    pub personal_data: FindingAction,
    /// Single categories, before the two above; the names are those of the placeholders (`jwt`,
    /// `email`).
    pub categories: BTreeMap<String, FindingAction>,
    /// Text that addresses a model; `mask` takes it in as untrusted.
    pub prompt_injection: FindingAction,
}

/// The least role for what a person decides: `member`, `maintainer` or `admin`. Who may do less proposes
/// instead of saving, and asks somebody else for the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct MinimumRoles {
    /// Save a record that counts for the team at once, or take one out; send what everybody finds at once as
    /// well: documents, repositories, tasks.
    #[cfg_attr(feature = "openapi", schema(inline))]
    pub save: Role,
    /// Accept or turn down what was proposed, and say that a record holds. Whoever may not save may not do
    /// this either, whatever is said here: they would accept what they proposed.
    #[cfg_attr(feature = "openapi", schema(inline))]
    pub review: Role,
    /// Agree to a write that leaves the service. Kept for the tools that change code, as `publish` is.
    #[cfg_attr(feature = "openapi", schema(inline))]
    pub confirm: Role,
    /// Push, open and merge.
    #[cfg_attr(feature = "openapi", schema(inline))]
    pub publish: Role,
}

/// Days that things are kept: 1 to 3,650, the audit at least 30.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct RetentionDays {
    /// What was recalled, and what of it was used.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 3650))]
    #[serde(deserialize_with = "whole")]
    pub bundles: u16,
    /// Records that were removed or replaced.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 3650))]
    #[serde(deserialize_with = "whole")]
    pub deleted_records: u16,
    /// Texts in quarantine that nobody decides about.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 3650))]
    #[serde(deserialize_with = "whole")]
    pub quarantine: u16,
    /// Reports of hygiene.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 3650))]
    #[serde(deserialize_with = "whole")]
    pub hygiene: u16,
    /// The audit.
    #[cfg_attr(feature = "openapi", schema(minimum = 30, maximum = 3650))]
    #[serde(deserialize_with = "whole")]
    pub audit: u16,
}

/// What is done by the clock to keep the memory in order (docs/hygiene.md). What is done can be undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct HygienePolicy {
    /// Notes of the team that say the same: `apply` leaves one of them.
    pub duplicates: HygieneAction,
    /// Records of the team that help nobody: `quarantine` puts them before reviewers as proposals, which nobody
    /// recalls; `apply` takes them out.
    pub unused_records: UnusedAction,
    /// Days after which a record helps nobody that was neither recalled nor changed, or whose cited code is not
    /// what it was: 1 to 3,650.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 3650))]
    #[serde(deserialize_with = "whole")]
    pub unused_after_days: u16,
    /// Days after which a repository is read again that nobody asked for: 1 to 3,650.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 3650))]
    #[serde(deserialize_with = "whole")]
    pub reindex_after_days: u16,
}

/// Which models may see the project's texts: with neither `any`, nothing of it leaves the machine for one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ModelPolicy {
    /// Those that make vectors for the search. Where the service has none that may, search is by words.
    pub embedding: AllowedModels,
    /// Those that write: distil what was learnt, review, propose. Kept for what asks them: nothing does yet.
    pub chat: AllowedModels,
}

/// Limits in tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct TokenLimits {
    /// The largest bundle that a recall answers with, whatever it asks for: 96 to 32,000.
    #[cfg_attr(feature = "openapi", schema(minimum = 96, maximum = 32000))]
    #[serde(deserialize_with = "whole")]
    pub recall: u32,
}

/// Whom the project tells.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct NotificationPolicy {
    /// Gets a signed POST whenever something was put into quarantine: an https URL of at most 2,000
    /// characters; nobody when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook_url: Option<String>,
}

/// What is taken in of what trackers and git hosts tell, and what is written there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct TrackerPolicy {
    /// Whether the texts of comments and reviews are kept and found. Not unless this says so: they are people's
    /// own words, and where a tracker is open to everybody, those of strangers.
    pub import_comments: bool,
    /// Whether a comment may be written at the tracker of a task that names the records and dialogs which belong to it.
    /// Not unless this says so, and then only what a person has agreed to, word by word.
    pub post_comments: bool,
}

/// Why a policy can't be set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} {rule}")]
pub struct InvalidPolicy {
    /// The setting, as the document spells it (`ttl_days.fact`).
    pub field: String,
    /// The rule that it breaks.
    pub rule: String,
}

/// A setting that differs between two policies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The setting (`roles.save`).
    pub field: String,
    /// What it was; `null` where it was absent.
    pub before: serde_json::Value,
    /// What it is; `null` where it is absent.
    pub after: serde_json::Value,
}

/// Most days that anything lives.
const DAYS_MAX: u16 = 3_650;
/// The audit is kept for as long at least: what it is asked about comes up later.
const AUDIT_DAYS_MIN: u16 = 30;
/// Limits of a bundle.
const RECALL_TOKENS: std::ops::RangeInclusive<u32> = 96..=32_000;
const COMMANDS_MAX: usize = 100;
const COMMAND_CHARS: usize = 200;
const CATEGORIES_MAX: usize = 200;
const URL_CHARS: usize = 2_000;

impl Policy {
    /// Whether every setting keeps its rule; the first that doesn't is named. Whether the categories
    /// exist is the sanitizer's to say.
    pub fn check(&self) -> Result<(), InvalidPolicy> {
        for kind in RecordKind::ALL {
            if let Some(lives) = self.ttl_days.of(*kind) {
                days(&format!("ttl_days.{kind}"), lives, 1)?;
            }
        }
        let retention = &self.retention_days;
        days("retention_days.bundles", retention.bundles, 1)?;
        days("retention_days.deleted_records", retention.deleted_records, 1)?;
        days("retention_days.quarantine", retention.quarantine, 1)?;
        days("retention_days.hygiene", retention.hygiene, 1)?;
        days("retention_days.audit", retention.audit, AUDIT_DAYS_MIN)?;
        days("hygiene.unused_after_days", self.hygiene.unused_after_days, 1)?;
        days("hygiene.reindex_after_days", self.hygiene.reindex_after_days, 1)?;
        self.sanitizer.check()?;
        self.min_roles.check()?;
        if !RECALL_TOKENS.contains(&self.tokens.recall) {
            let (least, most) = (RECALL_TOKENS.start(), RECALL_TOKENS.end());
            return invalid("tokens.recall", format!("must be from {least} to {most}"));
        }
        check_commands(&self.allowed_commands)?;
        match &self.notifications.webhook_url {
            Some(url) => check_webhook(url),
            None => Ok(()),
        }
    }

    /// The least role for an action here: that of the action itself, or a higher one.
    pub fn min_role(&self, action: Permission) -> Role {
        self.asks(action).map_or(action.min_role(), |(_, here)| here.max(action.min_role()))
    }

    /// The setting by which an action takes a higher role here than by itself.
    pub fn min_role_setting(&self, action: Permission) -> Option<&'static str> {
        let (setting, here) = self.asks(action)?;
        (here > action.min_role()).then_some(setting)
    }

    /// The setting that has a say about an action, and the role that it asks for.
    fn asks(&self, action: Permission) -> Option<(&'static str, Role)> {
        let MinimumRoles { save, review, confirm, publish } = self.min_roles;
        match action {
            Permission::Write | Permission::Ingest => Some(("min_roles.save", save)),
            // Whoever may not save would accept what they proposed.
            Permission::Accept if review < save => Some(("min_roles.save", save)),
            Permission::Accept => Some(("min_roles.review", review)),
            Permission::Confirm => Some(("min_roles.confirm", confirm)),
            Permission::Publish => Some(("min_roles.publish", publish)),
            _ => None,
        }
    }

    /// What differs from `before`, setting by setting.
    pub fn changes_from(&self, before: &Self) -> Vec<Change> {
        let [before, after] = [before, self].map(|policy| {
            let mut settings = BTreeMap::new();
            let document = serde_json::to_value(policy).unwrap_or_default();
            flatten("", document, &mut settings);
            settings
        });
        let fields: std::collections::BTreeSet<_> = before.keys().chain(after.keys()).collect();
        let value = |of: &BTreeMap<String, serde_json::Value>, field: &str| {
            of.get(field).cloned().unwrap_or_default()
        };
        let each = fields.into_iter().map(|field| Change {
            before: value(&before, field),
            after: value(&after, field),
            field: field.clone(),
        });
        each.filter(|change| change.before != change.after).collect()
    }
}

impl AllowedModels {
    /// Whether a model may that is on another machine than the service (`is_remote`), or on the same.
    pub fn allow(self, is_remote: bool) -> bool {
        match self {
            Self::Any => true,
            Self::Local => !is_remote,
            Self::Off => false,
        }
    }
}

impl TtlDays {
    /// Days that a record of this kind lives; `None` where it has no end by itself.
    pub fn of(&self, kind: RecordKind) -> Option<u16> {
        match kind {
            RecordKind::Fact => Some(self.fact),
            RecordKind::Fewshot => Some(self.fewshot),
            RecordKind::Pattern => self.pattern,
            RecordKind::AdrLink => self.adr_link,
            RecordKind::Gotcha => self.gotcha,
            RecordKind::Rule => self.rule,
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
            Some((field, _)) => {
                invalid(field, "must be member, maintainer or admin: this is for people")
            }
            None => Ok(()),
        }
    }
}

impl Default for TtlDays {
    /// Half a year for what ages (seed 001, section 15, has that for all kinds).
    fn default() -> Self {
        Self { fact: 180, fewshot: 180, pattern: None, adr_link: None, gotcha: None, rule: None }
    }
}

impl Default for SanitizerPolicy {
    fn default() -> Self {
        Self {
            secrets: FindingAction::Mask,
            personal_data: FindingAction::Mask,
            // In notes about systems they are mostly those of machines.
            categories: BTreeMap::from([("ip-address".to_owned(), FindingAction::Allow)]),
            prompt_injection: FindingAction::Quarantine,
        }
    }
}

impl Default for MinimumRoles {
    fn default() -> Self {
        let member = Role::Member;
        Self { save: member, review: member, confirm: member, publish: member }
    }
}

impl Default for RetentionDays {
    fn default() -> Self {
        Self { bundles: 365, deleted_records: 180, quarantine: 30, hygiene: 90, audit: 730 }
    }
}

impl Default for HygienePolicy {
    fn default() -> Self {
        let (duplicates, noise) = (HygieneAction::Suggest, UnusedAction::Report);
        // Half of what a record lives without a recall.
        Self { duplicates, unused_records: noise, unused_after_days: 90, reindex_after_days: 7 }
    }
}

impl Default for ModelPolicy {
    fn default() -> Self {
        Self { embedding: AllowedModels::Any, chat: AllowedModels::Any }
    }
}

impl Default for TokenLimits {
    fn default() -> Self {
        Self { recall: *RECALL_TOKENS.end() }
    }
}

/// A whole number, however it is written: to JSON `5` and `5.0` are one.
fn whole<'de, D: Deserializer<'de>, N: TryFrom<u32>>(deserializer: D) -> Result<N, D::Error> {
    let number = serde_json::Number::deserialize(deserializer)?;
    let float = number.as_f64().filter(|float| float.fract() == 0.0);
    let fits = float.filter(|float| (0.0..=f64::from(u32::MAX)).contains(float));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is whole and fits"
    )]
    let whole = fits.map(|float| float as u32).and_then(|whole| N::try_from(whole).ok());
    whole.ok_or_else(|| D::Error::custom(format!("must be a whole number, and not {number}")))
}

/// The same, or nothing.
fn whole_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u16>, D::Error> {
    #[derive(Deserialize)]
    #[serde(transparent)]
    struct Whole(#[serde(deserialize_with = "whole")] u16);
    let number = Option::<Whole>::deserialize(deserializer)?;
    Ok(number.map(|Whole(number)| number))
}

fn invalid<T>(field: &str, rule: impl Into<String>) -> Result<T, InvalidPolicy> {
    Err(InvalidPolicy { field: field.to_owned(), rule: rule.into() })
}

fn days(field: &str, days: u16, least: u16) -> Result<(), InvalidPolicy> {
    if (least..=DAYS_MAX).contains(&days) {
        return Ok(());
    }
    invalid(field, format!("must be from {least} to {DAYS_MAX}"))
}

fn check_commands(commands: &[String]) -> Result<(), InvalidPolicy> {
    if commands.len() > COMMANDS_MAX {
        return invalid("allowed_commands", format!("holds more than {COMMANDS_MAX}"));
    }
    for (at, command) in commands.iter().enumerate() {
        let field = format!("allowed_commands[{at}]");
        if let Err(error) = check_line(command.trim()) {
            return invalid(&field, error.to_string());
        }
        if command.trim().is_empty() || command.chars().count() > COMMAND_CHARS {
            return invalid(&field, format!("must hold 1 to {COMMAND_CHARS} characters"));
        }
    }
    Ok(())
}

/// What can be told without a look at the network: whether the address leads inside is for whoever
/// sends to it.
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
        return invalid(FIELD, "must not hold a user or a password: each notice is signed instead");
    }
    Ok(())
}

/// The settings of a document by their paths; what is no object stands for itself.
fn flatten(
    path: &str,
    value: serde_json::Value,
    settings: &mut BTreeMap<String, serde_json::Value>,
) {
    let serde_json::Value::Object(members) = value else {
        settings.insert(path.to_owned(), value);
        return;
    };
    for (name, value) in members {
        let path = if path.is_empty() { name } else { format!("{path}.{name}") };
        flatten(&path, value, settings);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(document: serde_json::Value) -> Policy {
        serde_json::from_value(document).expect("a policy")
    }

    #[test]
    fn an_empty_document_is_the_default() {
        assert_eq!(read(json!({})), Policy::default());
        assert_eq!(Policy::default().check(), Ok(()));
    }

    #[test]
    fn each_rule_names_the_setting_that_breaks_it() {
        for (document, field) in [
            (json!({"ttl_days": {"gotcha": 0}}), "ttl_days.gotcha"),
            (json!({"ttl_days": {"rule": 3651}}), "ttl_days.rule"),
            (json!({"retention_days": {"audit": 29}}), "retention_days.audit"),
            (json!({"retention_days": {"quarantine": 0}}), "retention_days.quarantine"),
            (json!({"retention_days": {"hygiene": 0}}), "retention_days.hygiene"),
            (json!({"hygiene": {"unused_after_days": 0}}), "hygiene.unused_after_days"),
            (json!({"hygiene": {"reindex_after_days": 3651}}), "hygiene.reindex_after_days"),
            (json!({"sanitizer": {"secrets": "allow"}}), "sanitizer.secrets"),
            (json!({"min_roles": {"save": "agent"}}), "min_roles.save"),
            (json!({"min_roles": {"publish": "viewer"}}), "min_roles.publish"),
            (json!({"tokens": {"recall": 95}}), "tokens.recall"),
            (json!({"allowed_commands": ["cargo test", ""]}), "allowed_commands[1]"),
            (json!({"allowed_commands": ["a\nb"]}), "allowed_commands[0]"),
            (json!({"notifications": {"webhook_url": "ftp://x"}}), "notifications.webhook_url"),
            (
                json!({"notifications": {"webhook_url": "https://me:pw@x"}}),
                "notifications.webhook_url",
            ),
        ] {
            let refused = read(document.clone()).check().expect_err("breaks a rule");
            assert_eq!(refused.field, field, "{document}");
        }
    }

    #[test]
    fn what_does_not_age_lives_until_the_policy_says_otherwise() {
        let days = |document| {
            let of = read(document).ttl_days;
            RecordKind::ALL.iter().map(|kind| of.of(*kind)).collect::<Vec<_>>()
        };
        let default = days(json!({}));
        assert_eq!(days(json!({"ttl_days": {"rule": null}})), default);
        for (kind, lives) in RecordKind::ALL.iter().zip(default) {
            let ages = matches!(kind, RecordKind::Fact | RecordKind::Fewshot);
            assert_eq!(lives, ages.then_some(180), "{kind}");
        }
        let named = read(json!({"ttl_days": {"rule": 30.0}})).ttl_days;
        assert_eq!(named.of(RecordKind::Rule), Some(30));
    }

    #[test]
    fn no_policy_lets_an_agent_decide() {
        let policy = Policy::default();
        for action in
            [Permission::Accept, Permission::Confirm, Permission::Publish, Permission::Write]
        {
            assert!(policy.min_role(action) >= Role::Member, "{action:?}");
        }
    }

    #[test]
    fn a_policy_raises_a_role_and_never_lowers_one() {
        let strict = read(json!({"min_roles": {"review": "maintainer", "publish": "admin"}}));
        assert_eq!(strict.min_role(Permission::Accept), Role::Maintainer);
        assert_eq!(strict.min_role(Permission::Publish), Role::Admin);
        for action in Permission::ALL {
            assert!(strict.min_role(action) >= action.min_role(), "{action:?}");
        }
    }

    #[test]
    fn whoever_may_not_save_accepts_nothing() {
        let strict = read(json!({"min_roles": {"save": "maintainer"}}));
        assert_eq!(strict.min_role(Permission::Accept), Role::Maintainer);
        let stricter = read(json!({"min_roles": {"save": "maintainer", "review": "admin"}}));
        assert_eq!(stricter.min_role(Permission::Accept), Role::Admin);
        assert_eq!(stricter.min_role(Permission::Write), Role::Maintainer);
    }

    #[test]
    fn a_higher_role_is_asked_for_by_the_setting_that_says_so() {
        let strict = read(json!({"min_roles": {"save": "maintainer", "publish": "admin"}}));
        for (action, setting) in [
            (Permission::Write, Some("min_roles.save")),
            (Permission::Ingest, Some("min_roles.save")),
            (Permission::Accept, Some("min_roles.save")),
            (Permission::Publish, Some("min_roles.publish")),
            (Permission::Confirm, None),
            (Permission::Read, None),
        ] {
            assert_eq!(strict.min_role_setting(action), setting, "{action:?}");
        }
        let reviewed = read(json!({"min_roles": {"save": "maintainer", "review": "admin"}}));
        assert_eq!(reviewed.min_role_setting(Permission::Accept), Some("min_roles.review"));
        assert!(
            Permission::ALL.iter().all(|one| Policy::default().min_role_setting(*one).is_none())
        );
    }

    #[test]
    fn changes_are_named_setting_by_setting() {
        let after = read(json!({
            "min_roles": {"save": "admin"},
            "sanitizer": {"categories": {"jwt": "reject"}},
        }));
        let changes = after.changes_from(&Policy::default());
        let told: Vec<_> =
            changes.iter().map(|c| (c.field.as_str(), &c.before, &c.after)).collect();
        assert_eq!(
            told,
            [
                ("min_roles.save", &json!("member"), &json!("admin")),
                ("sanitizer.categories.ip-address", &json!("allow"), &json!(null)),
                ("sanitizer.categories.jwt", &json!(null), &json!("reject")),
            ]
        );
        assert!(after.changes_from(&after).is_empty());
    }
}
