//! Asks other systems what their webhooks don't say.

mod credential;
mod error;
mod http;
mod incremental;
mod listing;
mod providers;
mod resource_name;
mod settings;
pub(crate) mod text;
mod time_zone;
mod timestamps;

use std::sync::Arc;

use url::Url;

use self::http::Http;
use self::listing::Incremental;
use self::providers::confluence::{self, Confluence};
use self::providers::github::{self, GitHub, Heads, RepositoryIssues};
use self::providers::gitlab::{self, GitLab};
use self::providers::jira::{self, Jira};
use self::providers::redmine::{self, Redmine};
use self::providers::youtrack::{self, YouTrack};
use crate::traits::{GitHost, Health, Tracker, Wiki};

pub use error::Error;
pub use settings::{Capability, ConnectorConfig, Limits, Provider, Token};

/// A system that can be asked. Made once, since it remembers connections, answers and limits; cheap to clone.
#[derive(Debug, Clone)]
pub struct Connector {
    http: Http,
}

impl Connector {
    /// Fails where the settings can't be right. Asks nothing yet.
    pub fn new(settings: ConnectorConfig) -> Result<Self, Error> {
        settings.check()?;
        let settings = Arc::new(settings);
        let http = match settings.kind {
            Provider::Github => github::open(settings),
            Provider::Gitlab => gitlab::open(settings),
            Provider::Jira => jira::open(settings),
            Provider::Youtrack => youtrack::open(settings),
            Provider::Redmine => redmine::open(settings),
            Provider::Confluence => confluence::open(settings),
        }?;
        Ok(Self { http })
    }

    /// The operator's name for it.
    pub fn name(&self) -> &str {
        self.http.system()
    }

    /// Which one it is.
    pub fn kind(&self) -> Provider {
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
            Provider::Github => Arc::new(Incremental(RepositoryIssues::new(http, what)?)),
            Provider::Gitlab => Arc::new(Incremental(GitLab::new(http, what)?)),
            Provider::Jira => Arc::new(Incremental(Jira::new(http, what)?)),
            Provider::Youtrack => Arc::new(Incremental(YouTrack::new(http, what)?)),
            Provider::Redmine => Arc::new(Incremental(Redmine::new(http, what)?)),
            Provider::Confluence => return Err(self.lacks(Capability::Issues)),
        })
    }

    /// The pages of the space with the key `what`.
    pub fn wiki(&self, what: &str) -> Result<Arc<dyn Wiki>, Error> {
        match self.kind() {
            Provider::Confluence => {
                Ok(Arc::new(Incremental(Confluence::new(self.http.clone(), what)?)))
            }
            _ => Err(self.lacks(Capability::Pages)),
        }
    }

    /// The refs of the repository `what` (`owner/name`, `group/sub/project`).
    pub fn git_host(&self, what: &str) -> Result<Arc<dyn GitHost>, Error> {
        let http = self.http.clone();
        match self.kind() {
            Provider::Github => Ok(Arc::new(Heads::new(http, what)?)),
            Provider::Gitlab => Ok(Arc::new(GitLab::new(http, what)?)),
            _ => Err(self.lacks(Capability::Refs)),
        }
    }

    /// Whether it can be reached, and as whom.
    pub fn health(&self) -> Arc<dyn Health> {
        let http = self.http.clone();
        match self.kind() {
            Provider::Github => Arc::new(GitHub::new(http)),
            Provider::Gitlab => Arc::new(GitLab::itself(http)),
            Provider::Jira => Arc::new(Jira::itself(http)),
            Provider::Youtrack => Arc::new(YouTrack::itself(http)),
            Provider::Redmine => Arc::new(Redmine::itself(http)),
            Provider::Confluence => Arc::new(Confluence::itself(http)),
        }
    }

    fn lacks(&self, ability: Capability) -> Error {
        Error::Lacks { system: self.name().to_owned(), kind: self.kind(), ability }
    }
}
