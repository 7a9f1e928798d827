//! Asks other systems what their webhooks don't say.

mod credential;
mod error;
mod http;
mod names;
mod settings;
mod source;
mod sweep;
mod systems;
pub(crate) mod text;
mod times;
mod zone;

use std::sync::Arc;

use url::Url;

use self::http::Http;
use self::source::Swept;
use self::systems::confluence::{self, Confluence};
use self::systems::github::{self, GitHub, Heads, RepositoryIssues};
use self::systems::gitlab::{self, GitLab};
use self::systems::jira::{self, Jira};
use self::systems::redmine::{self, Redmine};
use self::systems::youtrack::{self, YouTrack};
use crate::system::{GitHost, Health, Tracker, Wiki};

pub use error::Error;
pub use settings::{Ability, Limits, SystemKind, SystemSettings, Token};

/// A system that can be asked. Made once, since it remembers connections, answers and limits; cheap to clone.
#[derive(Debug, Clone)]
pub struct System {
    http: Http,
}

impl System {
    /// Fails where the settings can't be right. Asks nothing yet.
    pub fn new(settings: SystemSettings) -> Result<Self, Error> {
        settings.check()?;
        let settings = Arc::new(settings);
        let http = match settings.kind {
            SystemKind::Github => github::open(settings),
            SystemKind::Gitlab => gitlab::open(settings),
            SystemKind::Jira => jira::open(settings),
            SystemKind::Youtrack => youtrack::open(settings),
            SystemKind::Redmine => redmine::open(settings),
            SystemKind::Confluence => confluence::open(settings),
        }?;
        Ok(Self { http })
    }

    /// The operator's name for it.
    pub fn name(&self) -> &str {
        self.http.system()
    }

    /// Which one it is.
    pub fn kind(&self) -> SystemKind {
        self.http.settings().kind
    }

    /// Where people open it.
    pub fn url(&self) -> &Url {
        &self.http.settings().url
    }

    /// The issues of `what`: a repository (`owner/name`, `group/sub/project`), or a project's key or identifier.
    pub fn tracker(&self, what: &str) -> Result<Arc<dyn Tracker>, Error> {
        let http = self.http.clone();
        Ok(match self.kind() {
            SystemKind::Github => Arc::new(Swept(RepositoryIssues::new(http, what)?)),
            SystemKind::Gitlab => Arc::new(Swept(GitLab::new(http, what)?)),
            SystemKind::Jira => Arc::new(Swept(Jira::new(http, what)?)),
            SystemKind::Youtrack => Arc::new(Swept(YouTrack::new(http, what)?)),
            SystemKind::Redmine => Arc::new(Swept(Redmine::new(http, what)?)),
            SystemKind::Confluence => return Err(self.lacks(Ability::Issues)),
        })
    }

    /// The pages of the space with the key `what`.
    pub fn wiki(&self, what: &str) -> Result<Arc<dyn Wiki>, Error> {
        match self.kind() {
            SystemKind::Confluence => {
                Ok(Arc::new(Swept(Confluence::new(self.http.clone(), what)?)))
            }
            _ => Err(self.lacks(Ability::Pages)),
        }
    }

    /// The refs of the repository `what` (`owner/name`, `group/sub/project`).
    pub fn git_host(&self, what: &str) -> Result<Arc<dyn GitHost>, Error> {
        let http = self.http.clone();
        match self.kind() {
            SystemKind::Github => Ok(Arc::new(Heads::new(http, what)?)),
            SystemKind::Gitlab => Ok(Arc::new(GitLab::new(http, what)?)),
            _ => Err(self.lacks(Ability::Heads)),
        }
    }

    /// Whether it can be reached, and as whom.
    pub fn health(&self) -> Arc<dyn Health> {
        let http = self.http.clone();
        match self.kind() {
            SystemKind::Github => Arc::new(GitHub::new(http)),
            SystemKind::Gitlab => Arc::new(GitLab::itself(http)),
            SystemKind::Jira => Arc::new(Jira::itself(http)),
            SystemKind::Youtrack => Arc::new(YouTrack::itself(http)),
            SystemKind::Redmine => Arc::new(Redmine::itself(http)),
            SystemKind::Confluence => Arc::new(Confluence::itself(http)),
        }
    }

    fn lacks(&self, ability: Ability) -> Error {
        Error::Lacks { system: self.name().to_owned(), kind: self.kind(), ability }
    }
}
