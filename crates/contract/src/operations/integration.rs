//! `/projects/{key}/integrations` and `/connectors`.

use chrono::{DateTime, Utc};
use mc_domain::{Capability, IntegrationId, Provider};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use crate::number::IntervalMinutes;
use crate::text::{ConnectorName, IssueId};
use crate::{ProjectKey, Request};

path! {
    /// An integration, in a path.
    IntegrationPath {
        /// The project's key.
        key: ProjectKey,
        /// The integration's id.
        id: IntegrationId,
    }
}

/// An integration to create.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"connector": "our-jira", "resource": "CS", "interval_minutes": 15}))]
pub struct CreateIntegration {
    /// The name of a connector, as `GET /connectors` lists it; `git` for a repository that is read
    /// by git alone.
    pub connector: ConnectorName,
    /// The resource: a repository (`owner/name`; for `git` as the project has indexed it), a
    /// project's key or identifier, or a space's key.
    pub resource: IssueId,
    /// The data to sync; the connector's first capability when absent.
    pub capability: Option<Capability>,
    /// Minutes between two syncs: 5 to 1,440; 15 when absent.
    #[serde(default)]
    pub interval_minutes: IntervalMinutes,
    /// Whether comments of issues are imported, if the policy allows it
    /// (`trackers.import_comments`); yes when absent.
    pub include_comments: Option<bool>,
}

impl Request for CreateIntegration {}

/// A change of an integration. Fields that are absent stay as they are.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"is_paused": true}))]
pub struct UpdateIntegration {
    /// Minutes between two syncs: 5 to 1,440.
    pub interval_minutes: Option<IntervalMinutes>,
    /// Whether comments of issues are imported.
    pub include_comments: Option<bool>,
    /// Whether syncs are paused.
    pub is_paused: Option<bool>,
}

impl Request for UpdateIntegration {}

/// Treatment of the data of a deleted integration.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeleteIntegrationQuery {
    /// Whether its documents and the data of its tasks are deleted, too. They stay when absent.
    #[serde(default)]
    pub purge: bool,
}

impl Request for DeleteIntegrationQuery {}

query! {
    /// Which connectors to list.
    ConnectorQuery {
        /// Those that this project may use. All when absent, for service administrators.
        project_key: Option<ProjectKey>,
    }
}

/// An integration: a project's subscription to one resource of a connector.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-00000000000c", "connector": "our-jira", "resource": "CS",
    "capability": "issues", "interval_minutes": 15, "include_comments": true,
    "is_paused": false, "created_by": "vera", "created_at": "2026-11-20T10:00:00Z",
    "next_sync_at": "2026-11-20T10:15:00Z", "last_success_at": "2026-11-20T10:00:09Z",
    "consecutive_failures": 0, "task_count": 412, "document_count": 0,
    "last_run": {
        "completed_at": "2026-11-20T10:00:09Z", "has_failed": false, "pages_fetched": 9,
        "items_synced": 412
    }
}))]
pub struct Integration {
    /// The integration's id.
    pub id: IntegrationId,
    /// The connector's name.
    pub connector: String,
    /// Repository, tracker project or space at the provider.
    pub resource: String,
    /// The data that it syncs.
    pub capability: Capability,
    /// Minutes between two syncs.
    pub interval_minutes: i32,
    /// Whether comments of issues are imported.
    pub include_comments: bool,
    /// Whether syncs are paused.
    pub is_paused: bool,
    /// The login of its creator; absent if that user is deleted.
    pub created_by: Option<String>,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// When the next sync is due, unless it is paused.
    pub next_sync_at: DateTime<Utc>,
    /// When a sync last succeeded.
    pub last_success_at: Option<DateTime<Utc>>,
    /// Why the last sync failed; absent if it succeeded.
    pub last_error: Option<String>,
    /// Number of syncs that failed since the last success.
    pub consecutive_failures: i32,
    /// Number of its tasks.
    pub task_count: i64,
    /// Number of its documents.
    pub document_count: i64,
    /// The sync that is running.
    pub current_run: Option<SyncRun>,
    /// The last sync that ended.
    pub last_run: Option<LastSyncRun>,
}

/// A running sync, from the first page to the last. A rate-limited sync resumes at
/// `next_sync_at`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SyncRun {
    /// When it was started.
    pub started_at: DateTime<Utc>,
    /// Pages that were fetched so far.
    pub pages_fetched: i64,
    /// Issues and wiki pages that were synced, and index runs that were requested, so far.
    pub items_synced: i64,
}

/// The last sync. If it failed, `last_error` says why, and `next_sync_at` when it is retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LastSyncRun {
    /// When it was completed.
    pub completed_at: DateTime<Utc>,
    /// Whether it failed.
    pub has_failed: bool,
    /// Pages that were fetched.
    pub pages_fetched: i64,
    /// Issues and wiki pages that were synced, and index runs that were requested.
    pub items_synced: i64,
}

/// A provider as connectors name it: those of webhooks, and git itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConnectorProvider {
    /// GitHub, hosted or not.
    Github,
    /// GitLab, hosted or not.
    Gitlab,
    /// Jira, Cloud or Data Center.
    Jira,
    /// `YouTrack`.
    Youtrack,
    /// Redmine.
    Redmine,
    /// Confluence, Cloud or Data Center.
    Confluence,
    /// Any git server, and directories of the service's machine.
    Git,
}

impl From<Provider> for ConnectorProvider {
    fn from(provider: Provider) -> Self {
        match provider {
            Provider::Github => Self::Github,
            Provider::Gitlab => Self::Gitlab,
            Provider::Jira => Self::Jira,
            Provider::Youtrack => Self::Youtrack,
            Provider::Redmine => Self::Redmine,
            Provider::Confluence => Self::Confluence,
        }
    }
}

/// A connector, and the state of its integrations.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "name": "our-jira", "provider": "jira", "capabilities": ["issues"],
    "integration_count": 3, "failing_count": 0, "last_success_at": "2026-11-20T10:00:09Z",
    "next_sync_at": "2026-11-20T10:15:00Z"
}))]
pub struct Connector {
    /// The operator's name for it.
    pub name: String,
    /// Kind of provider, such as `github`.
    pub provider: ConnectorProvider,
    /// The data that it can sync.
    pub capabilities: Vec<Capability>,
    /// Number of integrations: of the project, or of all.
    pub integration_count: i64,
    /// Number of those whose last sync failed.
    pub failing_count: i64,
    /// When a sync last succeeded.
    pub last_success_at: Option<DateTime<Utc>>,
    /// Why one of the failing ones failed.
    pub last_error: Option<String>,
    /// When the next sync is due.
    pub next_sync_at: Option<DateTime<Utc>>,
}
