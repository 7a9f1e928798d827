//! `/recall`: what the team knows about a place, before work on it begins.

use std::collections::HashSet;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use mc_contract::number::TimeBudget;
use mc_contract::operations::recall::{
    CodeItem, DialogExcerpt, FewShot, Link, PastChange, RecallRequest, RecallResponse, Section,
    Statement, TaskSummary,
};
use mc_contract::operations::record::Citation;
use mc_domain::{BundleSection, Handle, Permission, ProjectId};
use mc_memory::bundle::{self, Bundle, CitedPlace, CodePlace, LinkTarget, handles};
use mc_memory::{PastChanges, TokenBudget, past_changes};

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::JsonBody;
use crate::openapi::Access;
use crate::problem::Problem;
use crate::wire::rounded;

/// Milliseconds for a recall that names no limit.
const DEFAULT_TIME_BUDGET_MS: u64 = 300;

/// Recall what the team knows before work begins.
///
/// Returns a bundle of facts, gotchas, examples, documents, dialogs and code within the limit of
/// tokens. It is empty, with a reason, if nothing is good enough; `degraded` names retrievers that
/// were late.
#[utoipa::path(
    post, path = "/recall", tag = "memory", request_body = RecallRequest,
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((
        status = 200, description = "The bundle; empty with a reason if nothing is good enough",
        body = RecallResponse
    ))
)]
pub async fn recall(
    State(api): State<ApiState>,
    caller: Principal,
    JsonBody(request): JsonBody<RecallRequest>,
) -> Result<Json<RecallResponse>, Problem> {
    let here = api.authorize(&caller, &request.project_key, Permission::Read).await?;
    let max = usize::try_from(here.project.policy.tokens.recall).unwrap_or(TokenBudget::MAX);
    let max = TokenBudget::new(max).unwrap_or_default();
    let wants_changes = request.include.contains(&Section::Changes);
    let request = domain_request(request, here.project.id, caller.name(), max)?;
    let changes = async {
        if wants_changes { past_changes(&here.memory, &request).await.map(Some) } else { Ok(None) }
    };
    let (bundle, changes) = tokio::try_join!(mc_memory::recall(&here.memory, &request), changes)?;
    Ok(Json(response(bundle, changes)))
}

/// The request to a project whose policy allows bundles of at most `max` tokens.
fn domain_request(
    request: RecallRequest,
    project: ProjectId,
    principal: &str,
    max: TokenBudget,
) -> Result<mc_memory::RecallRequest, Problem> {
    let limit = request.limit_tokens.unwrap_or_default().get();
    let limit = TokenBudget::new(limit)
        .map_err(|error| Problem::invalid(error.to_string()).field("limit_tokens"))?;
    let milliseconds = request.time_budget_ms.map_or(DEFAULT_TIME_BUDGET_MS, TimeBudget::get);
    Ok(mc_memory::RecallRequest {
        project,
        principal: request.developer.map_or_else(|| principal.to_owned(), Into::into),
        query: request.query.map(Into::into),
        task_external_id: request.task_external_id.map(Into::into),
        repo_path: request.repo_path.map(Into::into),
        symbols: request.symbols.into_items(),
        signals: request.signals.into_items(),
        limit: limit.min(max),
        time_budget: Duration::from_millis(milliseconds),
    })
}

/// The bundle as it is sent, with the section of past changes if it was requested.
fn response(bundle: Bundle, changes: Option<PastChanges>) -> RecallResponse {
    let handles = handles(&bundle);
    let of = |section| handles.of(section);
    let mut response = RecallResponse {
        facts: named(of(BundleSection::Facts), bundle.facts, statement),
        few_shots: named(of(BundleSection::FewShots), bundle.few_shots, few_shot),
        links: named(of(BundleSection::Links), bundle.links, link),
        gotchas: named(of(BundleSection::Gotchas), bundle.gotchas, statement),
        dialogs: named(of(BundleSection::Dialogs), bundle.dialogs, dialog),
        code: named(of(BundleSection::Code), bundle.code, code),
        changes: None,
        confidence: rounded(bundle.confidence),
        bundle_id: bundle.id,
        tokens: bundle.token_count,
        omitted: Some(bundle.omitted).filter(|count| *count > 0),
        degraded: bundle.degraded,
        reason: bundle.reason,
        task: bundle.task.map(task),
    };
    if let Some(PastChanges { changes, degraded }) = changes {
        response.changes = Some(changes.into_iter().map(past_change).collect());
        response.degraded.extend(degraded);
        let mut seen = HashSet::new();
        response.degraded.retain(|name| seen.insert(name.clone()));
    }
    response
}

/// Items with their handles.
fn named<T, U>(handles: &[Handle], items: Vec<T>, item: impl Fn(Handle, T) -> U) -> Vec<U> {
    handles.iter().zip(items).map(|(handle, one)| item(*handle, one)).collect()
}

fn statement(handle: Handle, statement: bundle::Statement) -> Statement {
    Statement {
        handle: handle.to_string(),
        id: statement.id,
        text: statement.text,
        full_chars: statement.full_chars,
        kind: statement.kind,
        scope: statement.scope,
        tags: statement.tags,
        trust: statement.trust,
        source: statement.source,
        ci_status: statement.ci_status,
        score: rounded(statement.score),
        state: statement.state,
        citations: statement.citations.into_iter().map(citation).collect(),
        warning: statement.warning,
    }
}

fn citation(place: CitedPlace) -> Citation {
    Citation {
        file: place.file,
        symbol: place.symbol,
        line_start: place.lines.map(|(start, _)| start),
        line_end: place.lines.map(|(_, end)| end),
        commit: place.commit,
        content_hash: None,
        verdict: place.verdict,
    }
}

fn few_shot(handle: Handle, shot: bundle::FewShot) -> FewShot {
    FewShot {
        handle: handle.to_string(),
        id: shot.id,
        title: shot.title,
        steps: shot.steps,
        patch_ref: shot.patch_ref,
        text: shot.text,
        full_chars: shot.full_chars,
        scope: shot.scope,
        trust: shot.trust,
        source: shot.source,
        ci_status: shot.ci_status,
        score: rounded(shot.score),
        warning: shot.warning,
    }
}

fn link(handle: Handle, link: bundle::Link) -> Link {
    Link {
        handle: handle.to_string(),
        title: link.title,
        url: link.url,
        id: match link.target {
            LinkTarget::Record(id) => id.into(),
            LinkTarget::Doc(id) => id.into(),
        },
        trust: link.trust,
        text: link.text,
        full_chars: link.full_chars,
        section: link.section,
        line_start: link.lines.map(|(start, _)| start),
        line_end: link.lines.map(|(_, end)| end),
    }
}

fn dialog(handle: Handle, dialog: bundle::DialogExcerpt) -> DialogExcerpt {
    DialogExcerpt {
        handle: handle.to_string(),
        id: dialog.id,
        text: dialog.text,
        trust: dialog.trust,
        score: rounded(dialog.score),
    }
}

fn code(handle: Handle, place: CodePlace) -> CodeItem {
    CodeItem {
        handle: handle.to_string(),
        location: place.location,
        line_start: place.line_start,
        line_end: place.line_end,
        symbol: place.symbol,
        summary: place.summary,
        trust: place.trust,
    }
}

fn past_change(change: mc_memory::PastChange) -> PastChange {
    PastChange {
        commit: change.commit,
        subject: change.subject,
        date: change.committed_at,
        files: change.files,
        trust: change.trust,
    }
}

fn task(task: bundle::TaskSummary) -> TaskSummary {
    TaskSummary { external_id: task.external_id, title: task.title, status: task.status }
}
