//! Requests to chat models, by which a project's daily budget of tokens is kept.

use mc_contract::operations::chat_usage::DailyChatUsage;
use mc_domain::{ChatRequestId, ProjectId};
use sqlx::PgConnection;

use crate::project_lock::{self, ProjectPart};
use crate::{Result, Store, Tx};

/// A request to be sent.
#[derive(Debug, Clone, Copy)]
pub struct NewChatRequest<'a> {
    /// Name of the model in the configuration.
    pub model: &'a str,
    /// What the model is used for.
    pub role: &'a str,
    /// The most tokens that the request may use.
    pub reserved_tokens: u64,
}

/// The end of a request.
#[derive(Debug, Clone, Copy)]
pub struct ChatRequestEnd {
    /// Tokens of the prompts of all attempts.
    pub prompt_tokens: u64,
    /// Tokens of the completions of all attempts.
    pub completion_tokens: u64,
    /// Their cost, in the currency of the configured price.
    pub cost: f64,
    /// Kind of the error, if it failed.
    pub error: Option<&'static str>,
}

/// Result of a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reservation {
    /// The tokens are reserved.
    Reserved(ChatRequestId),
    /// The budget has fewer tokens left.
    Spent {
        /// Tokens of the day that are used or reserved.
        used_tokens: u64,
    },
}

/// Reserves the tokens of a request if the project's budget of this day (UTC) has them. Concurrent
/// reservations of a project wait for each other until the transaction ends.
pub async fn reserve(
    tx: &mut Tx,
    project: ProjectId,
    budget: u64,
    request: &NewChatRequest<'_>,
) -> Result<Reservation> {
    project_lock::lock(tx, project, ProjectPart::ChatBudget).await?;
    let used = used_today(&mut tx.0, project).await?;
    if used.saturating_add(request.reserved_tokens) > budget {
        return Ok(Reservation::Spent { used_tokens: used });
    }
    let id = ChatRequestId::generate();
    tx.run(sqlx::query!(
        "insert into chat_requests (id, project_id, model, role, reserved_tokens)
         values ($1, $2, $3, $4, $5)",
        id.0,
        project.0,
        request.model,
        request.role,
        request.reserved_tokens.cast_signed()
    ))
    .await?;
    Ok(Reservation::Reserved(id))
}

/// Completes a request of a project to a model: its tokens replace the reserved ones. Returns
/// whether there was such an open request.
pub async fn complete(
    tx: &mut Tx,
    project: ProjectId,
    id: ChatRequestId,
    model: &str,
    end: &ChatRequestEnd,
) -> Result<bool> {
    let completed = sqlx::query!(
        "update chat_requests
         set prompt_tokens = $4, completion_tokens = $5, cost = $6, error = $7,
             completed_at = now()
         where id = $1 and project_id = $2 and model = $3 and completed_at is null",
        id.0,
        project.0,
        model,
        end.prompt_tokens.cast_signed(),
        end.completion_tokens.cast_signed(),
        end.cost,
        end.error
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(completed.rows_affected() == 1)
}

/// Lists the use of the last `days` days (UTC), newest day first. Tokens of requests that never
/// ended are not among it, although they count toward the budget.
pub async fn daily_usage(
    store: &Store,
    project: ProjectId,
    days: u16,
) -> Result<Vec<DailyChatUsage>> {
    let rows = sqlx::query!(
        r#"select (started_at at time zone 'UTC')::date as "day!", model, role,
               count(*) as "request_count!",
               count(*) filter (where completed_at is null or error is not null)
                   as "failed_count!",
               coalesce(sum(prompt_tokens), 0)::bigint as "prompt_tokens!",
               coalesce(sum(completion_tokens), 0)::bigint as "completion_tokens!",
               coalesce(sum(cost), 0) as "cost!"
           from chat_requests
           where project_id = $1
               and started_at >= date_trunc('day', now(), 'UTC') - make_interval(days => $2 - 1)
           group by 1, 2, 3 order by 1 desc, 2, 3"#,
        project.0,
        i32::from(days)
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    let usage = rows.into_iter().map(|row| DailyChatUsage {
        day: row.day,
        model: row.model,
        role: row.role,
        request_count: row.request_count.cast_unsigned(),
        failed_count: row.failed_count.cast_unsigned(),
        prompt_tokens: row.prompt_tokens.cast_unsigned(),
        completion_tokens: row.completion_tokens.cast_unsigned(),
        cost: row.cost,
    });
    Ok(usage.collect())
}

/// Returns the tokens of the present day (UTC) that are used or reserved.
pub async fn used_tokens(store: &Store, project: ProjectId) -> Result<u64> {
    used_today(&mut *store.read().await?, project).await
}

async fn used_today(connection: &mut PgConnection, project: ProjectId) -> Result<u64> {
    let used = sqlx::query_scalar!(
        r#"select coalesce(sum(coalesce(prompt_tokens + completion_tokens, reserved_tokens)), 0)
               ::bigint as "used!"
           from chat_requests
           where project_id = $1 and started_at >= date_trunc('day', now(), 'UTC')"#,
        project.0
    )
    .fetch_one(connection)
    .await?;
    Ok(used.cast_unsigned())
}
