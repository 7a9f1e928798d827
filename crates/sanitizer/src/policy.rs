//! Policies: the action on each category of findings.

use std::collections::BTreeMap;

use mc_domain::FindingAction;
use regex::Regex;

use crate::allowlist::Allowlist;
use crate::{Class, Finding};

/// The actions on findings, and the exceptions from them.
#[derive(Debug, Clone)]
pub struct Policy {
    secrets: FindingAction,
    personal: FindingAction,
    /// Actions by category, which override those by class.
    categories: BTreeMap<String, FindingAction>,
    /// Whether comments that allow a secret are honored.
    pub(crate) comments: bool,
    pub(crate) allowed: Allowlist,
}

impl Default for Policy {
    /// Masks secrets and personal data and ignores comments. IP addresses are allowed: in notes
    /// about systems they are mostly those of machines.
    fn default() -> Self {
        Self::strict().with("ip-address", FindingAction::Allow)
    }
}

impl Policy {
    /// Masks all categories and ignores comments.
    pub fn strict() -> Self {
        Self {
            secrets: FindingAction::Mask,
            personal: FindingAction::Mask,
            categories: BTreeMap::new(),
            comments: false,
            allowed: Allowlist::default(),
        }
    }

    /// Sets the action for a class. Categories with an action of their own keep it.
    pub fn with_class(mut self, class: Class, action: FindingAction) -> Self {
        match class {
            Class::Secret => self.secrets = action,
            Class::Personal => self.personal = action,
        }
        self
    }

    /// Sets the action for a category, such as `jwt` or `ip-address`.
    pub fn with(mut self, category: &str, action: FindingAction) -> Self {
        self.categories.insert(category.to_owned(), action);
        self
    }

    /// Sets whether comments such as `memory-copilot:allow` are honored.
    ///
    /// An author who can add a line can add the comment too, so honor it only in reviewed text,
    /// such as the files of a repository. A comment allows the secrets on its own line, but never a
    /// private key or personal data.
    pub fn with_comments(self, comments: bool) -> Self {
        Self { comments, ..self }
    }

    /// Adds a value that is not secret although it looks like it.
    pub fn with_allowed_value(mut self, value: &str) -> Self {
        self.allowed.values.insert(value.to_owned());
        self
    }

    /// Adds a regex of values that are not secret.
    pub fn with_allowed_regex(mut self, regex: Regex) -> Self {
        self.allowed.regexes.push(regex);
        self
    }

    /// Returns the action for a finding: that of its category, else that of its class.
    pub fn action(&self, finding: &Finding) -> FindingAction {
        self.of(finding.category, finding.class)
    }

    /// Returns the strictest action on the findings of a text, which is the action on the text.
    pub fn strictest(&self, findings: &[Finding]) -> FindingAction {
        findings.iter().map(|finding| self.action(finding)).max().unwrap_or(FindingAction::Allow)
    }

    /// Whether the action on some category of personal data is stricter than `Allow`.
    pub(crate) fn wants_personal(&self) -> bool {
        self.personal > FindingAction::Allow
            || self.categories.values().any(|a| *a > FindingAction::Allow)
    }

    /// Whether the action on the category is stricter than `Allow`.
    pub(crate) fn wants(&self, category: &str, class: Class) -> bool {
        self.of(category, class) > FindingAction::Allow
    }

    fn of(&self, category: &str, class: Class) -> FindingAction {
        let by_class = match class {
            Class::Secret => self.secrets,
            Class::Personal => self.personal,
        };
        self.categories.get(category).copied().unwrap_or(by_class)
    }
}
