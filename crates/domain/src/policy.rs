//! The policy of a project: retention, sanitizing, roles, hygiene and models. `Default` is the
//! policy of a project that has set none.

mod diff;
mod number;
#[cfg(test)]
mod tests;
mod validate;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::kinds::{RecordKind, vocabularies};
use crate::role::{Permission, Role};

pub use diff::SettingChange;
use number::{whole, whole_or_none};
pub use validate::InvalidPolicy;
use validate::RECALL_TOKENS;

vocabularies! {
    /// The action on a finding of the sanitizer, from the mildest to the strictest.
    FindingAction, "action", {
        /// The text stays unchanged.
        Allow = "allow",
        /// A placeholder replaces the finding.
        Mask = "mask",
        /// The whole text is encrypted and quarantined until a person decides.
        Quarantine = "quarantine",
        /// The request is rejected.
        Reject = "reject",
    }

    /// The models that may process a project's texts.
    AllowedModels, "providers", {
        /// Every model that the service is configured with.
        Any = "any",
        /// Models on the service's own machine.
        Local = "local",
        /// None; features that need a model are skipped for the project.
        Off = "off",
    }

    /// The action on duplicates.
    HygieneAction, "action", {
        /// They are not searched for.
        Off = "off",
        /// They are listed for people to decide.
        Suggest = "suggest",
        /// They are merged.
        Merge = "merge",
    }

    /// The nightly optimization of the system prompt.
    PromptAction, "action", {
        /// The prompt changes only by hand.
        Off = "off",
        /// A better prompt is searched and reported.
        Report = "report",
        /// A significantly better prompt is tried by a tenth of the developers.
        Canary = "canary",
    }

    /// A group of tools of MCP servers, which are offered together.
    Toolset, "toolset", {
        /// Team memory: recall and save, with search, links and feedback.
        Memory = "memory",
        /// Indexed repositories and documents: search and reading.
        Repo = "repo",
        /// Questions to indexed repositories, with the options of a query pipeline, and workspaces.
        Rag = "rag",
        /// Issues and pull requests of a git host. It has no tools yet.
        Github = "github",
        /// Patches: proposed changes of a workspace's files.
        Coding = "coding",
        /// Navigation and editing of workspaces, in two phases.
        Files = "files",
    }

    /// The action on unused records.
    UnusedAction, "action", {
        /// They are not searched for.
        Off = "off",
        /// They are listed.
        Report = "report",
        /// They are no longer recalled until a person reviews them.
        Demote = "demote",
        /// They are deleted.
        Delete = "delete",
    }
}

/// The policy of a project.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Days until a record expires, counted from its save or last recall; a save that names its own
    /// `ttl` overrides this.
    pub ttl_days: TtlDays,
    /// Actions on secrets, personal data and prompt injection.
    pub sanitizer: SanitizerPolicy,
    /// Minimum roles for decisions of people.
    pub min_roles: MinimumRoles,
    /// Days that data is kept.
    pub retention_days: RetentionDays,
    /// Scheduled actions on duplicates and unused records.
    pub hygiene: HygienePolicy,
    /// Models that may process the project's texts.
    pub models: ModelPolicy,
    /// Limits in tokens.
    pub tokens: TokenLimits,
    /// Commands that a dry run of a patch may start, each by its first words (`cargo test`): at
    /// most 100 of 200 characters. Without any, none is started.
    #[cfg_attr(feature = "openapi", schema(max_items = 100))]
    pub allowed_commands: Vec<String>,
    /// Toolsets of MCP servers for which neither user nor operator has chosen any: at most 6. An
    /// empty list stands for `memory` and `repo`.
    #[cfg_attr(feature = "openapi", schema(max_items = 6))]
    pub mcp_toolsets: Vec<Toolset>,
    /// Notifications that the project sends.
    pub notifications: NotificationPolicy,
    /// Data imported from trackers and git hosts, and comments posted there.
    pub trackers: TrackerPolicy,
}

/// Days that a record of each kind lives: 1 to 3,650. Records of a kind without a number never
/// expire by themselves.
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

/// The actions on findings of the sanitizer and of the prompt guard in submitted texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct SanitizerPolicy {
    /// Secrets; `allow` is for single categories only.
    pub secrets: FindingAction,
    /// Personal data.
    pub personal_data: FindingAction,
    /// Single categories, which override the two settings above. Their names are those of the
    /// placeholders (`jwt`, `email`).
    pub categories: BTreeMap<String, FindingAction>,
    /// Prompt injection; `mask` stores the text as untrusted.
    pub prompt_injection: FindingAction,
}

/// Minimum roles for decisions of people: `member`, `maintainer` or `admin`. A save below the
/// minimum role becomes a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct MinimumRoles {
    /// Save a team record without review, or delete one; ingest documents, repositories and tasks,
    /// which are searchable at once as well.
    #[cfg_attr(feature = "openapi", schema(inline))]
    pub save: Role,
    /// Accept or reject proposals, and confirm records. The role for `save` is required as well:
    /// otherwise people could accept their own proposals.
    #[cfg_attr(feature = "openapi", schema(inline))]
    pub review: Role,
    /// Approve a write that leaves the service. Reserved for tools that change code.
    #[cfg_attr(feature = "openapi", schema(inline))]
    pub confirm: Role,
    /// Push branches, open and merge pull requests. Reserved for tools that change code.
    #[cfg_attr(feature = "openapi", schema(inline))]
    pub publish: Role,
}

/// Days that data is kept: 1 to 3,650, the audit at least 30.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct RetentionDays {
    /// Bundles with their feedback, outcomes of saves, sessions of clients, and requests to chat
    /// models.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 3650))]
    #[serde(deserialize_with = "whole")]
    pub bundles: u16,
    /// Deleted and superseded records.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 3650))]
    #[serde(deserialize_with = "whole")]
    pub deleted_records: u16,
    /// Quarantine items without a decision.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 3650))]
    #[serde(deserialize_with = "whole")]
    pub quarantine: u16,
    /// Hygiene runs.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 3650))]
    #[serde(deserialize_with = "whole")]
    pub hygiene: u16,
    /// Audit events.
    #[cfg_attr(feature = "openapi", schema(minimum = 30, maximum = 3650))]
    #[serde(deserialize_with = "whole")]
    pub audit: u16,
}

/// Scheduled maintenance of the memory (docs/hygiene.md). Its changes can be undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct HygienePolicy {
    /// Duplicate records of the team: `merge` keeps one of them.
    pub duplicates: HygieneAction,
    /// Unused records of the team: `demote` makes them proposals for reviewers, which are not
    /// recalled; `delete` deletes them.
    pub unused_records: UnusedAction,
    /// Days after which a record counts as unused that was neither recalled nor changed, or whose
    /// cited code has changed: 1 to 3,650.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 3650))]
    #[serde(deserialize_with = "whole")]
    pub unused_after_days: u16,
    /// Days after which a repository is indexed again without a request: 1 to 3,650.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 3650))]
    #[serde(deserialize_with = "whole")]
    pub reindex_after_days: u16,
    /// The system prompt: `canary` lets a tenth of the developers try a better one, and promotes it
    /// or rolls it back by the outcomes of their dialogs (docs/prompts.md).
    pub prompt: PromptAction,
}

/// The models that may process the project's texts. Without `any`, no text leaves the machine for a
/// model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ModelPolicy {
    /// Embedding models and cross-encoders of the search. Without an allowed embedding model,
    /// search is by keyword.
    pub embedding: AllowedModels,
    /// Chat models, which judge, distill and propose. Without an allowed one, rules decide.
    pub chat: AllowedModels,
}

/// Limits in tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct TokenLimits {
    /// The largest bundle that a recall returns, whatever it requests: 96 to 32,000.
    #[cfg_attr(feature = "openapi", schema(minimum = 96, maximum = 32000))]
    #[serde(deserialize_with = "whole")]
    pub recall: u32,
    /// The tokens of chat models, of prompts and completions, that the project may use on one day
    /// in UTC: 0 to 1,000,000,000. Without any left, rules decide until the next day.
    #[cfg_attr(feature = "openapi", schema(maximum = 1_000_000_000))]
    #[serde(deserialize_with = "whole")]
    pub chat_per_day: u32,
}

/// The notifications that the project sends.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct NotificationPolicy {
    /// Receives a signed POST for each new quarantine item: an https URL of at most 2,000
    /// characters. Without it, no notification is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook_url: Option<String>,
}

/// Data imported from trackers and git hosts, and comments posted there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct TrackerPolicy {
    /// Whether the texts of comments and reviews are stored and searchable. Off by default: people
    /// wrote them for the tracker, and at a public tracker strangers did.
    pub import_comments: bool,
    /// Whether a task comment, which lists the records and dialogs of a task, may be posted at its
    /// tracker. Off by default; only a text that a person approved is posted.
    pub post_comments: bool,
}

impl Policy {
    /// Returns the minimum role for a permission: its own, or a higher one that this policy sets.
    pub fn min_role(&self, permission: Permission) -> Role {
        let own = permission.min_role();
        self.configured_role(permission).map_or(own, |(_, role)| role.max(own))
    }

    /// Returns the setting that raises the role for a permission, if one does.
    pub fn min_role_setting(&self, permission: Permission) -> Option<&'static str> {
        let (setting, role) = self.configured_role(permission)?;
        (role > permission.min_role()).then_some(setting)
    }

    /// Returns the setting that applies to a permission, and its role.
    fn configured_role(&self, permission: Permission) -> Option<(&'static str, Role)> {
        let MinimumRoles { save, review, confirm, publish } = self.min_roles;
        match permission {
            Permission::Write | Permission::Ingest => Some(("min_roles.save", save)),
            // A reviewer who may not save could accept their own proposals.
            Permission::Accept if review < save => Some(("min_roles.save", save)),
            Permission::Accept => Some(("min_roles.review", review)),
            Permission::Confirm => Some(("min_roles.confirm", confirm)),
            Permission::Publish => Some(("min_roles.publish", publish)),
            _ => None,
        }
    }
}

impl Toolset {
    /// Toolsets that are offered if no other are chosen.
    pub const DEFAULT: &'static [Self] = &[Self::Memory, Self::Repo];
}

impl AllowedModels {
    /// Whether a model is allowed; `is_remote` means that it runs on another machine.
    pub fn allow(self, is_remote: bool) -> bool {
        match self {
            Self::Any => true,
            Self::Local => !is_remote,
            Self::Off => false,
        }
    }
}

impl TtlDays {
    /// Returns the days until a record of this kind expires; `None` if it never does.
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

impl Default for TtlDays {
    /// Half a year for facts and examples, which age. Seed 001, section 15, has it for all kinds.
    fn default() -> Self {
        Self { fact: 180, fewshot: 180, pattern: None, adr_link: None, gotcha: None, rule: None }
    }
}

impl Default for SanitizerPolicy {
    fn default() -> Self {
        Self {
            secrets: FindingAction::Mask,
            personal_data: FindingAction::Mask,
            // In records about systems, IP addresses are mostly those of machines.
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
        Self {
            duplicates: HygieneAction::Suggest,
            unused_records: UnusedAction::Report,
            // Half the default lifetime of a record that is never recalled.
            unused_after_days: 90,
            reindex_after_days: 7,
            prompt: PromptAction::Canary,
        }
    }
}

impl Default for ModelPolicy {
    fn default() -> Self {
        Self { embedding: AllowedModels::Any, chat: AllowedModels::Any }
    }
}

impl Default for TokenLimits {
    fn default() -> Self {
        // Some hundred judged saves, or one night of the optimizer.
        Self { recall: *RECALL_TOKENS.end(), chat_per_day: 500_000 }
    }
}
