//! Versions of a project's system prompt. The rows decide which version a developer gets; files in
//! git are copies.

pub mod sources;

use chrono::{DateTime, Utc};
use mc_domain::{ProjectId, PromptState, UserId};
use serde_json::Value;
use sqlx::PgConnection;

use crate::error::word;
use crate::project_lock::{self, ProjectPart};
use crate::row::read;
use crate::{Result, Store, Tx};

/// A version of a system prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptVersion {
    /// Number; 0 is the built-in prompt.
    pub version: i32,
    /// Instructions and examples.
    pub prompt: Value,
    /// Version in use when it was made.
    pub parent_version: Option<i32>,
    /// Whether it is in use.
    pub state: PromptState,
    /// What is known about its effect.
    pub quality: Value,
    /// Changes from the parent, as a unified diff.
    pub diff: String,
    /// Assignment of developers, if it is or was a canary.
    pub arms: Option<Value>,
    /// Settings of its canary.
    pub settings: Option<Value>,
    /// Figures of its canary.
    pub report: Option<Value>,
    /// Login of the user who set it; `None` for the optimizer.
    pub created_by: Option<String>,
    /// When it was made, and a canary started.
    pub created_at: DateTime<Utc>,
    /// Login of the user who decided on it; `None` for the rule.
    pub decided_by: Option<String>,
    /// When it was promoted or taken back.
    pub decided_at: Option<DateTime<Utc>>,
    /// The commit of its file.
    pub git_commit: Option<String>,
}

/// A version to store.
#[derive(Debug, Clone)]
pub struct NewPromptVersion {
    /// Number, which no stored version has.
    pub version: i32,
    /// Instructions and examples, masked.
    pub prompt: Value,
    /// Version in use.
    pub parent_version: Option<i32>,
    /// Whether it is in use.
    pub state: PromptState,
    /// What is known about its effect.
    pub quality: Value,
    /// Changes from the parent.
    pub diff: String,
    /// Assignment of developers, for a canary.
    pub arms: Option<Value>,
    /// Settings, for a canary.
    pub settings: Option<Value>,
}

/// Which versions to read.
#[derive(Debug, Clone, Copy, Default)]
pub struct VersionFilter {
    /// Only the current version and the canary.
    pub is_served: bool,
    /// Only this version.
    pub version: Option<i32>,
    /// Only versions below this one.
    pub before: Option<i32>,
    /// Most versions.
    pub limit: Option<i64>,
}

impl VersionFilter {
    /// The current version and the canary.
    pub const SERVED: Self = Self { is_served: true, version: None, before: None, limit: None };
}

/// Lists versions of a project, newest first.
pub async fn list(
    store: &Store,
    project: ProjectId,
    filter: VersionFilter,
) -> Result<Vec<PromptVersion>> {
    list_on(&mut *store.read().await?, project, filter).await
}

/// Locks the versions of a project until the transaction ends, and lists all of them: one
/// transaction at a time decides.
pub async fn lock(tx: &mut Tx, project: ProjectId) -> Result<Vec<PromptVersion>> {
    project_lock::lock(tx, project, ProjectPart::Prompt).await?;
    list_on(&mut tx.0, project, VersionFilter::default()).await
}

async fn list_on(
    connection: &mut PgConnection,
    project: ProjectId,
    filter: VersionFilter,
) -> Result<Vec<PromptVersion>> {
    let rows = sqlx::query!(
        r#"select v.version, v.prompt, v.parent_version, v.state, v.quality, v.diff, v.arms,
               v.settings, v.report, c.login as "created_by?", v.created_at,
               d.login as "decided_by?", v.decided_at, v.git_commit
           from prompt_versions v
           left join users c on c.id = v.created_by
           left join users d on d.id = v.decided_by
           where v.project_id = $1 and ($2::int is null or v.version = $2)
               and ($3::int is null or v.version < $3)
               and (not $4 or v.state in ('canary', 'current'))
           order by v.version desc limit $5"#,
        project.0,
        filter.version,
        filter.before,
        filter.is_served,
        filter.limit
    )
    .fetch_all(connection)
    .await?;
    read!(each row in rows => PromptVersion {
        version, prompt, parent_version, state: word(&row.state)?, quality, diff, arms, settings,
        report, created_by, created_at, decided_by, decided_at, git_commit
    })
}

/// Stores a version.
pub async fn insert(tx: &mut Tx, project: ProjectId, new: &NewPromptVersion) -> Result<()> {
    tx.run(sqlx::query!(
        "insert into prompt_versions (project_id, version, prompt, parent_version, state, quality,
             diff, arms, settings, created_by)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        project.0,
        new.version,
        new.prompt,
        new.parent_version,
        new.state.as_str(),
        new.quality,
        new.diff,
        new.arms,
        new.settings,
        // The built-in prompt is nobody's.
        tx.principal().filter(|_| new.version > 0).map(|user| user.0)
    ))
    .await
}

/// Moves a version from one state to another. The decision about a canary, and a rollback, are
/// those of the transaction's principal or the rule. Returns `false` if it is in another state.
pub async fn set_state(
    tx: &mut Tx,
    project: ProjectId,
    version: i32,
    from: PromptState,
    to: PromptState,
) -> Result<bool> {
    tx.has_changed(sqlx::query!(
        "update prompt_versions set state = $4,
             decided_by = case when $3 = 'canary' or $4 = 'rolled_back' then $5
                 else decided_by end,
             decided_at = case when $3 = 'canary' or $4 = 'rolled_back' then now()
                 else decided_at end,
             -- The file has another version.
             git_commit = case when $4 = 'current' then null else git_commit end
         where project_id = $1 and version = $2 and state = $3",
        project.0,
        version,
        from.as_str(),
        to.as_str(),
        tx.principal().map(|user| user.0)
    ))
    .await
}

/// Stores what is known about the effect of a version.
pub async fn set_quality(
    tx: &mut Tx,
    project: ProjectId,
    version: i32,
    quality: &Value,
) -> Result<()> {
    tx.run(sqlx::query!(
        "update prompt_versions set quality = $3 where project_id = $1 and version = $2",
        project.0,
        version,
        quality
    ))
    .await
}

/// Stores the figures of a canary.
pub async fn set_report(
    tx: &mut Tx,
    project: ProjectId,
    version: i32,
    report: &Value,
) -> Result<()> {
    tx.run(sqlx::query!(
        "update prompt_versions set report = $3 where project_id = $1 and version = $2",
        project.0,
        version,
        report
    ))
    .await
}

/// A version in use whose file is not committed.
#[derive(Debug, Clone, PartialEq)]
pub struct UncommittedPrompt {
    /// Its project.
    pub project: ProjectId,
    /// Key of the project.
    pub key: String,
    /// The version.
    pub version: i32,
}

/// Lists the versions in use whose files are not committed. A built-in prompt is written only over
/// another version.
pub async fn uncommitted(store: &Store) -> Result<Vec<UncommittedPrompt>> {
    let rows = sqlx::query!(
        "select v.project_id, p.key, v.version
         from prompt_versions v join projects p on p.id = v.project_id
         where v.state = 'current' and v.git_commit is null
             and (v.version > 0 or exists (select from prompt_versions o
                 where o.project_id = v.project_id and o.git_commit is not null))
         order by p.key"
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    read!(each row in rows => UncommittedPrompt { project: row.project_id.into(), key, version })
}

/// Stores the commit of a version's file, if the version is still in use. Otherwise the file has to
/// be committed again, and no version has a commit.
pub async fn set_commit(
    store: &Store,
    project: ProjectId,
    version: i32,
    commit: &str,
) -> Result<()> {
    sqlx::query!(
        "update prompt_versions
         set git_commit = case when version = $2 then $3 end
         where project_id = $1 and state = 'current'",
        project.0,
        version,
        commit
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(())
}

/// Lists the persons with a role on a project who used its memory in the last days.
pub async fn active_developers(
    store: &Store,
    project: ProjectId,
    days: i32,
) -> Result<Vec<UserId>> {
    let users = sqlx::query_scalar!(
        r#"select u.id from users u
           where not u.is_agent and mc.effective_role(u.id, $1) is not null and (
               exists (select from bundles b where b.project_id = $1 and b.user_id = u.id
                   and not b.is_control and b.created_at > now() - make_interval(days => $2))
               or exists (select from dialogs d where d.project_id = $1 and d.saved_by = u.id
                   and d.updated_at > now() - make_interval(days => $2)))
           order by u.id"#,
        project.0,
        days
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    Ok(users.into_iter().map(UserId::from).collect())
}
