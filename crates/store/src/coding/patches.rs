//! Patches: changes of a workspace's files that were proposed.

use std::time::Duration;

use chrono::{DateTime, Utc};
use mc_domain::{AuditAction, BundleId, PatchId, PatchState, ProjectId, UserId, WorkspaceId};
use mc_sanitizer::Sanitized;
use serde_json::{Value, json};

use crate::audit::{self, NewEvent};
use crate::error::word;
use crate::row::read;
use crate::{Result, Store, Tx};

/// A patch as stored. All texts are masked.
#[derive(Debug, Clone, PartialEq)]
pub struct Patch {
    /// Identifier.
    pub id: PatchId,
    /// Project that it belongs to.
    pub project: ProjectId,
    /// The workspace; `None` if it was deleted.
    pub workspace: Option<WorkspaceId>,
    /// The user who requested it.
    pub author: UserId,
    /// Login of the author.
    pub author_login: String,
    /// What happened to it.
    pub state: PatchState,
    /// Whether a person has to look at it before it is published.
    pub requires_manual_review: bool,
    /// Whether its last dry run succeeded.
    pub has_dry_run: bool,
    /// What it was to change.
    pub instructions: String,
    /// Paths that it may change; empty for all.
    pub target_paths: Vec<String>,
    /// Paths that it may not change.
    pub forbidden_paths: Vec<String>,
    /// The tracker's id of its task; empty without one.
    pub task_external_id: String,
    /// The bundle that the model was shown.
    pub bundle: Option<BundleId>,
    /// Commit that was checked out; empty without one.
    pub base_commit: String,
    /// Name of the chat model; empty if the client sent it.
    pub model: String,
    /// Unified diff of the files as a model sees them.
    pub diff: String,
    /// How exactly the proposal fitted the files.
    pub grade: String,
    /// What it changes.
    pub summary: Vec<String>,
    /// Files, risks, conflicts and warnings, in the form of the API.
    pub annotations: Value,
    /// Tokens of the prompts.
    pub prompt_tokens: i64,
    /// Tokens of the completions.
    pub completion_tokens: i64,
    /// The last review, in the form of the API; `None` before the first.
    pub review: Option<Value>,
    /// When it was proposed.
    pub created_at: DateTime<Utc>,
    /// When it is deleted.
    pub expires_at: DateTime<Utc>,
}

/// A patch to store.
#[derive(Debug)]
pub struct NewPatch<'a> {
    /// The project.
    pub project: ProjectId,
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The user who requested it.
    pub author: UserId,
    /// Whether a person has to look at it before it is published.
    pub requires_manual_review: bool,
    /// What it was to change.
    pub instructions: &'a Sanitized,
    /// Paths that it may change; empty for all.
    pub target_paths: &'a [String],
    /// Paths that it may not change.
    pub forbidden_paths: &'a [String],
    /// The tracker's id of its task; empty without one.
    pub task_external_id: &'a str,
    /// The bundle that the model was shown.
    pub bundle: Option<BundleId>,
    /// Commit that was checked out; empty without one.
    pub base_commit: &'a str,
    /// Name of the chat model; empty if the client sent it.
    pub model: &'a str,
    /// Unified diff of the files as a model sees them.
    pub diff: &'a Sanitized,
    /// How exactly the proposal fitted the files.
    pub grade: &'a str,
    /// What it changes.
    pub summary: &'a [String],
    /// Files, risks, conflicts and warnings, in the form of the API.
    pub annotations: &'a Value,
    /// Tokens of the prompts.
    pub prompt_tokens: u64,
    /// Tokens of the completions.
    pub completion_tokens: u64,
    /// Time until it is deleted.
    pub ttl: Duration,
}

/// A patch of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct PatchItem {
    /// Identifier.
    pub id: PatchId,
    /// The workspace; `None` if it was deleted.
    pub workspace: Option<WorkspaceId>,
    /// Login of the author.
    pub author_login: String,
    /// What happened to it.
    pub state: PatchState,
    /// Whether a person has to look at it before it is published.
    pub requires_manual_review: bool,
    /// Whether its last dry run succeeded.
    pub has_dry_run: bool,
    /// What it was to change.
    pub instructions: String,
    /// The tracker's id of its task; empty without one.
    pub task_external_id: String,
    /// What it changes.
    pub summary: Vec<String>,
    /// Its files, in the form of the API.
    pub files: Value,
    /// When it was proposed.
    pub created_at: DateTime<Utc>,
    /// When it is deleted.
    pub expires_at: DateTime<Utc>,
}

/// A patch that changed no file.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenPatch {
    /// Identifier.
    pub id: PatchId,
    /// Its files, in the form of the API.
    pub files: Value,
}

/// Which patches to list.
#[derive(Debug, Clone, Copy, Default)]
pub struct PatchFilter {
    /// Only those of this user.
    pub author: Option<UserId>,
    /// Only those of this workspace.
    pub workspace: Option<WorkspaceId>,
    /// Only those in this state.
    pub state: Option<PatchState>,
    /// Only those before this one.
    pub cursor: Option<PatchId>,
}

/// Stores a proposed patch, and returns its id.
pub async fn create(tx: &mut Tx, new: &NewPatch<'_>) -> Result<PatchId> {
    let id = PatchId::generate();
    tx.run(sqlx::query!(
        "insert into patches (id, project_id, workspace_id, author_id, requires_manual_review,
             instructions, target_paths, forbidden_paths, task_external_id, bundle_id, base_commit,
             model, diff, grade, summary, annotations, prompt_tokens, completion_tokens, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
             now() + make_interval(secs => $19))",
        id.0,
        new.project.0,
        new.workspace.0,
        new.author.0,
        new.requires_manual_review,
        new.instructions.as_str(),
        new.target_paths,
        new.forbidden_paths,
        new.task_external_id,
        new.bundle.map(|bundle| bundle.0),
        new.base_commit,
        new.model,
        new.diff.as_str(),
        new.grade,
        new.summary,
        new.annotations,
        new.prompt_tokens.cast_signed(),
        new.completion_tokens.cast_signed(),
        new.ttl.as_secs_f64()
    ))
    .await?;
    let details = json!({
        "workspace": new.workspace, "files": new.annotations["files"], "model": new.model,
    });
    audit::record(tx, NewEvent::new(AuditAction::PatchGenerated, id).with(details));
    Ok(id)
}

/// Returns the patch with this id, unless it has expired.
pub async fn find(store: &Store, id: PatchId) -> Result<Option<Patch>> {
    let row = sqlx::query_as!(
        Row,
        r#"select p.id, p.project_id, p.workspace_id, p.author_id, u.login as author_login,
               p.state, p.requires_manual_review, p.has_dry_run, p.instructions,
               p.target_paths, p.forbidden_paths, p.task_external_id, p.bundle_id,
               p.base_commit, p.model, p.diff, p.grade, p.summary, p.annotations,
               p.prompt_tokens, p.completion_tokens, p.review, p.created_at, p.expires_at
           from patches p join users u on u.id = p.author_id
           where p.id = $1 and p.expires_at > now()"#,
        id.0
    )
    .fetch_optional(&mut *store.read().await?)
    .await?;
    row.map(Row::into_patch).transpose()
}

/// Lists the patches of a project that the principal may see, newest first.
pub async fn list(
    store: &Store,
    project: ProjectId,
    filter: PatchFilter,
    limit: i64,
) -> Result<Vec<PatchItem>> {
    let rows = sqlx::query_as!(
        ItemRow,
        r#"select p.id, p.workspace_id, u.login as author_login, p.state,
               p.requires_manual_review, p.has_dry_run, p.instructions, p.task_external_id,
               p.summary, p.annotations -> 'files' as "files!", p.created_at, p.expires_at
           from patches p join users u on u.id = p.author_id
           where p.project_id = $1 and p.expires_at > now()
               and ($2::uuid is null or p.author_id = $2)
               and ($3::uuid is null or p.workspace_id = $3)
               and ($4::text is null or p.state = $4) and ($5::uuid is null or p.id < $5)
           order by p.id desc limit $6"#,
        project.0,
        filter.author.map(|author| author.0),
        filter.workspace.map(|workspace| workspace.0),
        filter.state.map(PatchState::as_str),
        filter.cursor.map(|cursor| cursor.0),
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    rows.into_iter().map(ItemRow::into_item).collect()
}

/// Lists the files of the newest patches of a user in a workspace that changed no file.
pub async fn files_of_open(
    store: &Store,
    project: ProjectId,
    author: UserId,
    workspace: WorkspaceId,
    limit: i64,
) -> Result<Vec<OpenPatch>> {
    let rows = sqlx::query!(
        r#"select id, annotations -> 'files' as "files!" from patches
           where project_id = $1 and author_id = $2 and workspace_id = $3
               and state = 'generated' and expires_at > now()
           order by id desc limit $4"#,
        project.0,
        author.0,
        workspace.0,
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    Ok(rows.into_iter().map(|row| OpenPatch { id: row.id.into(), files: row.files }).collect())
}

/// Stores a review of a patch that changed no file, and returns whether it was one. Once a person
/// has to look at a patch, that stays so.
pub async fn set_review(
    tx: &mut Tx,
    id: PatchId,
    review: &Value,
    requires_manual_review: bool,
) -> Result<bool> {
    let is_reviewed = tx
        .has_changed(sqlx::query!(
            "update patches set review = $2, updated_at = now(),
                 requires_manual_review = requires_manual_review or $3
             where id = $1 and state = 'generated'",
            id.0,
            review,
            requires_manual_review
        ))
        .await?;
    if is_reviewed {
        let details = json!({"status": review["status"], "model": review["model"]});
        audit::record(tx, NewEvent::new(AuditAction::PatchReviewed, id).with(details));
    }
    Ok(is_reviewed)
}

/// Stores whether a dry run of a patch that changed no file has succeeded, and returns whether it
/// was one. `commands` are masked.
pub async fn set_dry_run(
    tx: &mut Tx,
    id: PatchId,
    has_succeeded: bool,
    commands: &[&str],
) -> Result<bool> {
    let is_stored = tx
        .has_changed(sqlx::query!(
            "update patches set has_dry_run = $2, updated_at = now()
             where id = $1 and state = 'generated'",
            id.0,
            has_succeeded
        ))
        .await?;
    if is_stored {
        let details = json!({"commands": commands, "succeeded": has_succeeded});
        audit::record(tx, NewEvent::new(AuditAction::PatchPreviewed, id).with(details));
    }
    Ok(is_stored)
}

/// Discards a patch that changed no file, and returns whether it was one.
pub async fn discard(tx: &mut Tx, id: PatchId) -> Result<bool> {
    let is_discarded = tx
        .has_changed(sqlx::query!(
            "update patches set state = 'discarded', updated_at = now()
             where id = $1 and state = 'generated'",
            id.0
        ))
        .await?;
    if is_discarded {
        audit::record(tx, NewEvent::new(AuditAction::PatchDiscarded, id));
    }
    Ok(is_discarded)
}

/// Deletes expired patches, and returns their number.
pub(crate) async fn delete_expired(store: &Store) -> Result<u64> {
    let deleted = sqlx::query!("delete from patches where expires_at < now()")
        .execute(&mut *store.plain().await?)
        .await?;
    Ok(deleted.rows_affected())
}

struct Row {
    id: uuid::Uuid,
    project_id: uuid::Uuid,
    workspace_id: Option<uuid::Uuid>,
    author_id: uuid::Uuid,
    author_login: String,
    state: String,
    requires_manual_review: bool,
    has_dry_run: bool,
    instructions: String,
    target_paths: Vec<String>,
    forbidden_paths: Vec<String>,
    task_external_id: String,
    bundle_id: Option<uuid::Uuid>,
    base_commit: String,
    model: String,
    diff: String,
    grade: String,
    summary: Vec<String>,
    annotations: Value,
    prompt_tokens: i64,
    completion_tokens: i64,
    review: Option<Value>,
    created_at: DateTime<Utc>,
    expires_at: DateTime<Utc>,
}

impl Row {
    fn into_patch(self) -> Result<Patch> {
        read!(self => Patch {
            id: self.id.into(), project: self.project_id.into(),
            workspace: self.workspace_id.map(Into::into), author: self.author_id.into(),
            author_login, state: word(&self.state)?, requires_manual_review, has_dry_run,
            instructions, target_paths, forbidden_paths, task_external_id,
            bundle: self.bundle_id.map(Into::into), base_commit, model, diff, grade, summary,
            annotations, prompt_tokens, completion_tokens, review, created_at, expires_at
        })
    }
}

struct ItemRow {
    id: uuid::Uuid,
    workspace_id: Option<uuid::Uuid>,
    author_login: String,
    state: String,
    requires_manual_review: bool,
    has_dry_run: bool,
    instructions: String,
    task_external_id: String,
    summary: Vec<String>,
    files: Value,
    created_at: DateTime<Utc>,
    expires_at: DateTime<Utc>,
}

impl ItemRow {
    fn into_item(self) -> Result<PatchItem> {
        read!(self => PatchItem {
            id: self.id.into(), workspace: self.workspace_id.map(Into::into), author_login,
            state: word(&self.state)?, requires_manual_review, has_dry_run, instructions,
            task_external_id, summary, files, created_at, expires_at
        })
    }
}
