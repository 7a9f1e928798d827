//! What is done with a find.

use std::collections::BTreeMap;

use regex::Regex;

use crate::allowlist::Allowed;
use crate::{Class, Finding};

/// What is done with a find, from the mildest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// It stays as it is, and is not reported.
    Allow,
    /// It is replaced by its placeholder.
    Mask,
    /// It is masked, and the text waits until a person has looked at it.
    Quarantine,
    /// It is masked, and the text is not taken.
    Reject,
}

/// What is looked for, and what is done with it.
#[derive(Debug, Clone)]
pub struct Policy {
    secrets: Action,
    personal: Action,
    /// By category, before the class.
    categories: BTreeMap<String, Action>,
    comments: bool,
    pub(crate) allowed: Allowed,
}

impl Default for Policy {
    /// Masks secrets and personal data, whatever comments say, but not IP addresses: in notes about systems
    /// they are mostly those of machines.
    fn default() -> Self {
        Self::strict().with("ip-address", Action::Allow)
    }
}

impl Policy {
    /// Masks everything there are rules for, whatever comments say.
    pub fn strict() -> Self {
        Self {
            secrets: Action::Mask,
            personal: Action::Mask,
            categories: BTreeMap::new(),
            comments: false,
            allowed: Allowed::default(),
        }
    }

    /// The same, with another action for all finds of a class, but for those of categories that have
    /// one of their own.
    pub fn with_class(mut self, class: Class, action: Action) -> Self {
        match class {
            Class::Secret => self.secrets = action,
            Class::Personal => self.personal = action,
        }
        self
    }

    /// The same, with another action for a category, such as `jwt` or `ip-address`.
    pub fn with(mut self, category: &str, action: Action) -> Self {
        self.categories.insert(category.to_owned(), action);
        self
    }

    /// The same, with comments such as `memory-copilot:allow` honoured or not.
    ///
    /// Whoever can write into a line can write the comment too, so only what is reviewed before it is there,
    /// such as the files of a repository, is to be trusted with it. A comment spares
    /// the secrets on its own line; never a private key, and never personal data.
    pub fn with_comments(self, comments: bool) -> Self {
        Self { comments, ..self }
    }

    /// The same, with a value that is no secret, for all that it looks like one.
    pub fn with_allowed_value(mut self, value: &str) -> Self {
        self.allowed.values.insert(value.to_owned());
        self
    }

    /// The same, with values that are no secrets wherever the pattern matches in them.
    pub fn with_allowed_pattern(mut self, pattern: Regex) -> Self {
        self.allowed.patterns.push(pattern);
        self
    }

    /// What is done with a find.
    pub fn action(&self, find: &Finding) -> Action {
        self.of(find.category, find.class)
    }

    /// The strictest of what is done with the finds of a text: what is to become of the text.
    pub fn strictest(&self, finds: &[Finding]) -> Action {
        finds.iter().map(|find| self.action(find)).max().unwrap_or(Action::Allow)
    }

    pub(crate) fn honours_comments(&self) -> bool {
        self.comments
    }

    /// Whether any find of personal data would be more than allowed.
    pub(crate) fn wants_personal(&self) -> bool {
        self.personal > Action::Allow || self.categories.values().any(|a| *a > Action::Allow)
    }

    /// Whether a find of the category would be more than allowed.
    pub(crate) fn wants(&self, category: &str, class: Class) -> bool {
        self.of(category, class) > Action::Allow
    }

    fn of(&self, category: &str, class: Class) -> Action {
        let by_class = match class {
            Class::Secret => self.secrets,
            Class::Personal => self.personal,
        };
        self.categories.get(category).copied().unwrap_or(by_class)
    }
}
