//! Quarantine: texts that the policy keeps back, encrypted, until a person decides.

use chrono::{DateTime, Utc};
use mc_domain::{ProjectId, QuarantineItemId, QuarantineState, RecordId, UserId};
use mc_sanitizer::Sanitized;

use crate::error::word;
use crate::row::{read, uuids};
use crate::{Result, Store, Tx};

/// Attempts after which a notification is dropped.
const ATTEMPTS_MAX: i32 = 10;

/// An item to put into quarantine.
#[derive(Debug, Clone)]
pub struct NewQuarantineItem {
    /// Identifier, which the ciphertext is bound to.
    pub id: QuarantineItemId,
    /// Kind of the request: `save`, `dialog` or `document`.
    pub kind: &'static str,
    /// Categories of the sanitizer and families of the prompt guard.
    pub reasons: Vec<String>,
    /// Beginning of the text, masked.
    pub excerpt: Sanitized,
    /// The encrypted request.
    pub ciphertext: Vec<u8>,
    /// When it expires without a decision.
    pub expires_at: DateTime<Utc>,
    /// Whether to send a notification.
    pub notify: bool,
}

/// A quarantine item, without its content.
#[derive(Debug, Clone)]
pub struct QuarantineItem {
    /// Identifier.
    pub id: QuarantineItemId,
    /// Project that it belongs to.
    pub project: ProjectId,
    /// Kind of the request.
    pub kind: String,
    /// Categories of the sanitizer and families of the prompt guard.
    pub reasons: Vec<String>,
    /// Beginning of the text, masked.
    pub excerpt: String,
    /// The user who sent it.
    pub submitted_by: Option<UserId>,
    /// Login of that user.
    pub sender: Option<String>,
    /// Pending, released, deleted or expired.
    pub state: QuarantineState,
    /// Time of receipt.
    pub created_at: DateTime<Utc>,
    /// When it expires without a decision.
    pub expires_at: DateTime<Utc>,
    /// Login of the user who decided.
    pub decided_by: Option<String>,
    /// Time of the decision.
    pub decided_at: Option<DateTime<Utc>>,
}

/// Adds an item to the quarantine of the project.
pub async fn put(tx: &mut Tx, project: ProjectId, item: &NewQuarantineItem) -> Result<()> {
    tx.run(sqlx::query!(
        "insert into quarantine_items (id, project_id, kind, reasons, excerpt, ciphertext,
             submitted_by, expires_at,
             notify_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, case when $9 then now() end)",
        item.id.0,
        project.0,
        item.kind,
        &item.reasons,
        item.excerpt.as_str(),
        item.ciphertext,
        tx.principal().map(|user| user.0),
        item.expires_at,
        item.notify
    ))
    .await
}

/// Returns the items of the project before an id, newest first. The excerpt is empty once the item
/// has expired, even if retention deletes it hours later.
pub async fn list(
    store: &Store,
    project: ProjectId,
    state: Option<QuarantineState>,
    before: Option<QuarantineItemId>,
    limit: i64,
) -> Result<Vec<QuarantineItem>> {
    let rows = sqlx::query_as!(
        Row,
        r#"select q.id, q.project_id, q.kind, q.reasons,
                  case when q.state = 'pending' and q.expires_at <= now() then '' else q.excerpt
                      end as "excerpt!",
                  q.submitted_by, s.login as "sender?", q.state, q.created_at, q.expires_at,
                      d.login as "decided_by?",
                  q.decided_at
           from quarantine_items q left join users s on s.id = q.submitted_by
           left join users d on d.id = q.decided_by
           where q.project_id = $1 and ($2::text is null or q.state = $2) and q.id < $3
           order by q.id desc limit $4"#,
        project.0,
        state.map(QuarantineState::as_str),
        before.map_or(uuid::Uuid::max(), |id| id.0),
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    rows.into_iter().map(Row::into_item).collect()
}

/// Returns one item of the project, as [`list`] does.
pub async fn find(store: &Store, id: QuarantineItemId) -> Result<Option<QuarantineItem>> {
    let row = sqlx::query_as!(
        Row,
        r#"select q.id, q.project_id, q.kind, q.reasons,
                  case when q.state = 'pending' and q.expires_at <= now() then '' else q.excerpt
                      end as "excerpt!",
                  q.submitted_by, s.login as "sender?", q.state, q.created_at, q.expires_at,
                      d.login as "decided_by?",
                  q.decided_at
           from quarantine_items q left join users s on s.id = q.submitted_by
           left join users d on d.id = q.decided_by
           where q.id = $1"#,
        id.0
    )
    .fetch_optional(&mut *store.read().await?)
    .await?;
    row.map(Row::into_item).transpose()
}

/// Returns the ciphertext of a pending item; `None` if it is not pending.
pub async fn ciphertext(store: &Store, id: QuarantineItemId) -> Result<Option<Vec<u8>>> {
    Ok(sqlx::query_scalar!(
        "select ciphertext from quarantine_items where id = $1 and state = 'pending'
             and expires_at > now()",
        id.0
    )
    .fetch_optional(&mut *store.read().await?)
    .await?)
}

/// Deletes items of a project that were decided more than `days` ago. Runs as worker.
pub(crate) async fn delete_decided(tx: &mut Tx, project: ProjectId, days: u16) -> Result<u64> {
    tx.count_changed(sqlx::query!(
        "delete from quarantine_items
         where project_id = $1 and state <> 'pending'
             and decided_at < now() - make_interval(days => $2)",
        project.0,
        i32::from(days)
    ))
    .await
}

/// Stores the decision about a pending item and deletes its content; returns `false` if it is not
/// pending.
pub async fn decide(tx: &mut Tx, id: QuarantineItemId, state: QuarantineState) -> Result<bool> {
    tx.has_changed(sqlx::query!(
        "update quarantine_items set state = $2, ciphertext = '', excerpt = '', decided_by = $3,
             decided_at = now(), notify_at = null
         where id = $1 and state = 'pending' and expires_at > now()",
        id.0,
        state.as_str(),
        tx.principal().map(|user| user.0)
    ))
    .await
}

/// Locks a pending item until the transaction ends; returns `false` if it is not pending.
pub async fn lock(tx: &mut Tx, id: QuarantineItemId) -> Result<bool> {
    let locked = sqlx::query!(
        "select id from quarantine_items where id = $1 and state = 'pending' and expires_at > now()
             for update",
        id.0
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    Ok(locked.is_some())
}

/// Returns whether any of these records was changed after the item was created.
pub async fn is_outdated(tx: &mut Tx, id: QuarantineItemId, by: &[RecordId]) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from memory_records r join quarantine_items q on q.id = $1
               where r.id = any($2) and r.updated_at > q.created_at) as "is_overtaken!""#,
        id.0,
        &uuids(by)
    )
    .fetch_one(&mut *tx.0)
    .await?)
}

/// Expires pending items of a project that were not decided in time and deletes their content;
/// returns them. Runs as worker.
pub(crate) async fn expire(tx: &mut Tx, project: ProjectId) -> Result<Vec<QuarantineItemId>> {
    let deleted = sqlx::query_scalar!(
        "update quarantine_items set state = 'expired', ciphertext = '', excerpt = '',
             decided_at = now(),
             notify_at = null
         where project_id = $1 and state = 'pending' and expires_at < now() returning id",
        project.0
    )
    .fetch_all(&mut *tx.0)
    .await?;
    Ok(deleted.into_iter().map(QuarantineItemId::from).collect())
}

/// A due notification.
#[derive(Debug, Clone)]
pub struct QuarantineNotification {
    /// The quarantine item, without its content.
    pub item: QuarantineItem,
    /// The project's key.
    pub project_key: String,
    /// URL that it is sent to.
    pub url: Option<String>,
    /// Number of attempts.
    pub attempts: i32,
}

/// Claims due notifications of pending items, each for one attempt. The next attempt is scheduled
/// with exponential backoff, until [`mark_notified`] is called or the limit is reached. Runs as
/// worker.
pub async fn claim_notifications(store: &Store, limit: i64) -> Result<Vec<QuarantineNotification>> {
    let rows = sqlx::query!(
        r#"with due as (
               select id from quarantine_items where notify_at <= now() and expires_at > now()
               order by notify_at limit $1 for update skip locked),
           taken as (
               update quarantine_items q set attempts = attempts + 1,
                   notify_at = case when attempts + 1 < $2
                       then now() + make_interval(secs => 30 * 2 ^ attempts) end
               from due where q.id = due.id returning q.*)
           select t.id as "id!", t.project_id as "project_id!", t.kind as "kind!",
               t.reasons as "reasons!",
                  t.excerpt as "excerpt!", t.submitted_by, s.login as "sender?",
                      t.state as "state!",
                  t.created_at as "created_at!", t.expires_at as "expires_at!", t.decided_at,
                  t.attempts as "attempts!", p.key as "key!",
                      p.policy #>> '{notifications,webhook_url}' as url
           from taken t join projects p on p.id = t.project_id
               left join users s on s.id = t.submitted_by"#,
        limit,
        ATTEMPTS_MAX
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    let notification = rows.into_iter().map(|row| {
        let item = read!(row => QuarantineItem {
            id: row.id.into(), project: row.project_id.into(), kind, reasons, excerpt,
            submitted_by: row.submitted_by.map(UserId), sender, state: word(&row.state)?,
            created_at, expires_at, decided_by: None, decided_at
        });
        read!(row => QuarantineNotification { item: item?, project_key: row.key, url, attempts })
    });
    notification.collect()
}

/// Marks a notification as done: it was received, or never will be.
pub async fn mark_notified(store: &Store, id: QuarantineItemId) -> Result<()> {
    sqlx::query!("update quarantine_items set notify_at = null where id = $1", id.0)
        .execute(&mut *store.plain().await?)
        .await?;
    Ok(())
}

/// Deletes the content of a user's pending items in the project, as [`decide`] does; returns their
/// number.
pub async fn delete_submitted_by(tx: &mut Tx, project: ProjectId, sender: UserId) -> Result<u64> {
    tx.count_changed(sqlx::query!(
        "update quarantine_items set state = 'deleted', ciphertext = '', excerpt = '',
             decided_by = $3,
             decided_at = now(), notify_at = null
         where project_id = $1 and submitted_by = $2 and state = 'pending'",
        project.0,
        sender.0,
        tx.principal().map(|user| user.0)
    ))
    .await
}

struct Row {
    id: uuid::Uuid,
    project_id: uuid::Uuid,
    kind: String,
    reasons: Vec<String>,
    excerpt: String,
    submitted_by: Option<uuid::Uuid>,
    sender: Option<String>,
    state: String,
    created_at: DateTime<Utc>,
    expires_at: DateTime<Utc>,
    decided_by: Option<String>,
    decided_at: Option<DateTime<Utc>>,
}

impl Row {
    fn into_item(self) -> Result<QuarantineItem> {
        read!(self => QuarantineItem {
            id: self.id.into(), project: self.project_id.into(), kind, reasons, excerpt,
            submitted_by: self.submitted_by.map(UserId), sender, state: word(&self.state)?,
            created_at, expires_at, decided_by, decided_at
        })
    }
}
