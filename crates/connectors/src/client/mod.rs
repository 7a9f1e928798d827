//! Asks other systems what their webhooks don't say.

mod error;
mod settings;

use std::sync::Arc;

use url::Url;

use crate::system::{GitHost, Health, Tracker, Wiki};

pub use error::Error;
pub use settings::{Ability, Limits, SystemKind, SystemSettings, Token};

/// A system that can be asked. Made once, since it remembers connections and answers; cheap to clone.
#[derive(Debug, Clone)]
pub struct System {
    settings: Arc<SystemSettings>,
}

impl System {
    /// Fails where the settings can't be right. Asks nothing yet.
    pub fn new(settings: SystemSettings) -> Result<Self, Error> {
        Ok(Self { settings: Arc::new(settings) })
    }

    /// The operator's name for it.
    pub fn name(&self) -> &str {
        &self.settings.name
    }

    /// Which one it is.
    pub fn kind(&self) -> SystemKind {
        self.settings.kind
    }

    /// Where people open it.
    pub fn url(&self) -> &Url {
        &self.settings.url
    }

    /// The issues of `what`: a repository (`owner/name`, `group/sub/project`), or a project's key or identifier.
    pub fn tracker(&self, what: &str) -> Result<Arc<dyn Tracker>, Error> {
        Err(self.lacks(Ability::Issues, what))
    }

    /// The pages of the space with the key `what`.
    pub fn wiki(&self, what: &str) -> Result<Arc<dyn Wiki>, Error> {
        Err(self.lacks(Ability::Pages, what))
    }

    /// The refs of the repository `what` (`owner/name`, `group/sub/project`).
    pub fn git_host(&self, what: &str) -> Result<Arc<dyn GitHost>, Error> {
        Err(self.lacks(Ability::Heads, what))
    }

    /// Whether it can be reached, and as whom.
    pub fn health(&self) -> Result<Arc<dyn Health>, Error> {
        Err(self.lacks(Ability::Issues, ""))
    }

    fn lacks(&self, ability: Ability, _what: &str) -> Error {
        Error::Lacks { system: self.settings.name.clone(), kind: self.settings.kind, ability }
    }
}
