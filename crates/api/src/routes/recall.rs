//! `/recall`: what the team knows about a place, before work on it begins.

use std::collections::HashSet;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use mc_domain::{BundleSection, Handle, Permission, ProjectId, ProjectKey};
use mc_memory::bundle::{Bundle, CitedPlace, CodePlace, LinkTarget, handles};
use mc_memory::{PastChanges, TokenBudget, past_changes};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::records::Citation;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::ValidJson;
use crate::limits;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};
use crate::wire::{CiVerdict, Kind, State as RecordState, Trust, rounded, whole};

/// What is about to be worked on. At least one of `query`, `task_external_id`, `repo_path`,
/// `symbols` and `signals` says so.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "project_key": "shop",
    "task_external_id": "CS-214",
    "repo_path": "app/services/cart_sessions",
    "symbols": ["CartSessions::Setting#trigger_delay_time_in_minutes"],
    "signals": ["nil-delay", "unit-mismatch"],
    "limit_tokens": 2000
}))]
pub struct RecallRequest {
    #[schema(value_type = schemas::ProjectKey)]
    project_key: String,
    /// The question in words.
    #[schema(value_type = Option<schemas::QueryText>)]
    query: Option<String>,
    #[schema(value_type = Option<schemas::ExternalId>)]
    task_external_id: Option<String>,
    /// File or folder, relative to the repository's root.
    #[schema(value_type = Option<schemas::RepositoryPath>)]
    repo_path: Option<String>,
    /// Qualified names.
    #[serde(default)]
    #[schema(value_type = schemas::Symbols)]
    symbols: Vec<String>,
    /// Marks of the trouble: a word, an error's line, a trace. Of a long one its message counts, without times,
    /// ids and folders.
    #[serde(default)]
    #[schema(value_type = schemas::Signals)]
    signals: Vec<String>,
    /// Size of the bundle in tokens: 96 to 32,000; 2,000 when absent.
    #[serde(default, deserialize_with = "whole")]
    #[schema(value_type = Option<schemas::TokenLimit>)]
    limit_tokens: Option<i64>,
    /// Milliseconds after which a late leg is left out: 1 to 20,000; 300 when absent.
    #[serde(default, deserialize_with = "whole")]
    #[schema(value_type = Option<schemas::TimeBudget>)]
    time_budget_ms: Option<i64>,
    /// Who asks, for the record of what was handed out.
    #[schema(value_type = Option<schemas::Name>)]
    developer: Option<String>,
    /// Sections beside the bundle; none when empty.
    #[serde(default)]
    #[schema(max_items = 64)]
    include: Vec<Section>,
}

/// A section beside the bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// Similar past changes: the commits of indexed repositories that are nearest to the task.
    Changes,
}

/// A [`RecallRequest`] as checked.
#[derive(Debug)]
pub struct ValidatedRecall {
    project: ProjectKey,
    query: Option<String>,
    task: Option<String>,
    repo_path: Option<String>,
    symbols: Vec<String>,
    signals: Vec<String>,
    limit: TokenBudget,
    time_budget: Duration,
    developer: Option<String>,
    include: Vec<Section>,
}

impl Validate for RecallRequest {
    type Checked = ValidatedRecall;

    fn check(self) -> Result<ValidatedRecall, ValidationError> {
        let task = self.task_external_id;
        let tokens = self.limit_tokens.unwrap_or(limits::DEFAULT_LIMIT_TOKENS);
        let budget = self.time_budget_ms.unwrap_or(limits::DEFAULT_TIME_BUDGET_MS);
        let checked = ValidatedRecall {
            project: validate::project_key("project_key", &self.project_key)?,
            query: validate::optional_text("query", self.query, limits::QUERY)?,
            task: validate::optional_identifier("task_external_id", task, limits::EXTERNAL_ID)?,
            repo_path: validate::optional("repo_path", self.repo_path, |field, path| {
                validate::relative_path(field, &path)
            })?,
            symbols: validate::list("symbols", self.symbols, limits::WORDS, |field, symbol| {
                validate::line(field, &symbol, limits::SYMBOL)
            })?,
            signals: validate::list("signals", self.signals, limits::WORDS, |field, signal| {
                validate::text(field, &signal, limits::SIGNAL)
            })?,
            limit: TokenBudget::new(validate::range(
                "limit_tokens",
                tokens,
                &limits::LIMIT_TOKENS,
            )?)
            .map_err(|error| ValidationError::new("limit_tokens", error))?,
            time_budget: validate::milliseconds("time_budget_ms", budget)?,
            developer: validate::optional_masked("developer", self.developer, limits::NAME)?,
            include: validate::list("include", self.include, limits::WORDS, |_, section| {
                Ok(section)
            })?,
        };
        if checked.asks_for_nothing() {
            return Err(ValidationError::new(
                "query",
                "say what it is about: query, task_external_id, repo_path, symbols or signals",
            ));
        }
        Ok(checked)
    }
}

impl ValidatedRecall {
    /// What is asked of a project whose policy allows bundles of at most so many tokens.
    fn into_domain(
        self,
        project: ProjectId,
        principal: &str,
        most: TokenBudget,
    ) -> mc_memory::RecallRequest {
        mc_memory::RecallRequest {
            project,
            principal: self.developer.unwrap_or_else(|| principal.to_owned()),
            query: self.query,
            task_external_id: self.task,
            repo_path: self.repo_path,
            symbols: self.symbols,
            signals: self.signals,
            limit: self.limit.min(most),
            time_budget: self.time_budget,
        }
    }

    fn asks_for_nothing(&self) -> bool {
        let named = [&self.query, &self.task, &self.repo_path];
        named.iter().all(|part| part.is_none())
            && self.symbols.is_empty()
            && self.signals.is_empty()
    }
}

/// What the team knows about the place, within the token limit.
#[derive(Debug, Serialize, ToSchema)]
pub struct RecallResponse {
    /// Short statements, best first, each whole where the token limit allows it.
    facts: Vec<Statement>,
    /// Worked examples, at most 3.
    few_shots: Vec<FewShot>,
    /// Decisions and documents to read.
    links: Vec<Link>,
    /// Rules and warnings that match the place.
    gotchas: Vec<Statement>,
    /// What came out of conversations, at most 2.
    dialogs: Vec<DialogExcerpt>,
    /// Places in the code.
    code: Vec<CodeItem>,
    /// Similar past changes, nearest first, at most 3; there where `include` asks for `changes`. They are not counted
    /// in `tokens` and `confidence`.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Vec<PastChange>>,
    /// How sure it is that this helps, from 0 to 1.
    confidence: f64,
    /// What `POST /feedback` wants to know about.
    bundle_id: Uuid,
    /// Size as counted by tiktoken.
    tokens: usize,
    /// How many more things are good enough, and had no room within the token limit; absent where all had.
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<usize>,
    /// Legs that were late or failed and were left out.
    degraded: Vec<String>,
    /// Why there is nothing, when there is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<TaskSummary>,
}

/// A fact, gotcha or rule.
#[derive(Debug, Serialize, ToSchema)]
pub struct Statement {
    /// Its name within this bundle, such as `m1`: tools take it in the place of an id.
    handle: String,
    id: Uuid,
    text: String,
    /// How many characters the whole text has, where the token limit left room for its most telling
    /// sentences only; `GET /records/{id}` has all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    full_chars: Option<usize>,
    kind: Kind,
    scope: Vec<String>,
    tags: Vec<String>,
    trust: Trust,
    /// What it was taken from, in at most 120 characters; absent for what somebody just said.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// What CI says of the patch that it is about; absent where it says nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    ci_status: Option<CiVerdict>,
    score: f64,
    state: RecordState,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    citations: Vec<Citation>,
    /// What to be careful about: the code that it cites changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

/// A worked example.
#[derive(Debug, Serialize, ToSchema)]
pub struct FewShot {
    /// Its name within this bundle, such as `m1`: tools take it in the place of an id.
    handle: String,
    id: Uuid,
    title: String,
    steps: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_ref: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// As in a fact.
    #[serde(skip_serializing_if = "Option::is_none")]
    full_chars: Option<usize>,
    scope: Vec<String>,
    trust: Trust,
    /// What it was taken from, in at most 120 characters; absent for what somebody just said.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// What CI says of the patch that it is about; absent where it says nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    ci_status: Option<CiVerdict>,
    score: f64,
    /// What to be careful about.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

/// A decision or document to read.
#[derive(Debug, Serialize, ToSchema)]
pub struct Link {
    /// Its name within this bundle, such as `m1`: tools take it in the place of an id.
    handle: String,
    title: String,
    /// Address, or the path of a file of a repository that has none.
    url: String,
    /// The record or document that it leads to.
    id: Uuid,
    trust: Trust,
    /// What was decided; absent for a document.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// As in a fact.
    #[serde(skip_serializing_if = "Option::is_none")]
    full_chars: Option<usize>,
    /// The heading of the document's section that is nearest to the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    section: Option<String>,
    /// The section's first line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line_start: Option<i32>,
    /// The section's last line, inclusive.
    #[serde(skip_serializing_if = "Option::is_none")]
    line_end: Option<i32>,
}

/// What came out of a conversation that nobody made a record of.
#[derive(Debug, Serialize, ToSchema)]
pub struct DialogExcerpt {
    /// Its name within this bundle, such as `m1`: tools take it in the place of an id.
    handle: String,
    /// The dialog.
    id: Uuid,
    /// At most 300 characters.
    text: String,
    trust: Trust,
    score: f64,
}

/// A place in the code.
#[derive(Debug, Serialize, ToSchema)]
pub struct CodeItem {
    /// Its name within this bundle, such as `m1`: tools take it in the place of an id.
    handle: String,
    /// Path within the repository.
    location: String,
    line_start: i32,
    line_end: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    symbol: Option<String>,
    summary: String,
    trust: Trust,
}

/// A past change that resembles the task.
#[derive(Debug, Serialize, ToSchema)]
pub struct PastChange {
    /// First digits of the commit's name.
    commit: String,
    /// First line of its message.
    subject: String,
    date: DateTime<Utc>,
    /// The indexed files of code that it touched, by their names now.
    files: Vec<String>,
    trust: Trust,
}

/// The task that the recall was about.
#[derive(Debug, Serialize, ToSchema)]
pub struct TaskSummary {
    external_id: String,
    title: String,
    status: String,
}

/// Recall what the team knows before work begins.
#[utoipa::path(
    post, path = "/recall", tag = "memory", request_body = RecallRequest,
    responses((status = 200, description = "The bundle; empty with a reason when nothing is good enough", body = RecallResponse))
)]
pub async fn recall(
    State(api): State<ApiState>,
    caller: Principal,
    ValidJson(request): ValidJson<RecallRequest>,
) -> Result<Json<RecallResponse>, Problem> {
    let here = api.authorize(&caller, &request.project, Permission::Read).await?;
    let most = usize::try_from(here.project.policy.tokens.recall).unwrap_or(TokenBudget::MAX);
    let most = TokenBudget::new(most).unwrap_or_default();
    let wants_changes = request.include.contains(&Section::Changes);
    let request = request.into_domain(here.project.id, caller.name(), most);
    let changes = async {
        if wants_changes { past_changes(&here.memory, &request).await.map(Some) } else { Ok(None) }
    };
    let (bundle, changes) = tokio::try_join!(mc_memory::recall(&here.memory, &request), changes)?;
    Ok(Json(RecallResponse::from(bundle).with(changes)))
}

impl From<Bundle> for RecallResponse {
    fn from(bundle: Bundle) -> Self {
        let handles = handles(&bundle);
        let of = |section| handles.of(section);
        Self {
            facts: named(of(BundleSection::Facts), bundle.facts),
            few_shots: named(of(BundleSection::FewShots), bundle.few_shots),
            links: named(of(BundleSection::Links), bundle.links),
            gotchas: named(of(BundleSection::Gotchas), bundle.gotchas),
            dialogs: named(of(BundleSection::Dialogs), bundle.dialogs),
            code: named(of(BundleSection::Code), bundle.code),
            changes: None,
            confidence: rounded(bundle.confidence),
            bundle_id: bundle.id.into(),
            tokens: bundle.token_count,
            omitted: Some(bundle.omitted).filter(|count| *count > 0),
            degraded: bundle.degraded,
            reason: bundle.reason,
            task: bundle.task.map(Into::into),
        }
    }
}

/// Items with their handles.
fn named<T, U: From<(Handle, T)>>(handles: &[Handle], items: Vec<T>) -> Vec<U> {
    handles.iter().copied().zip(items).map(Into::into).collect()
}

impl RecallResponse {
    /// The same with the section of past changes, where that was asked for.
    fn with(mut self, changes: Option<PastChanges>) -> Self {
        let Some(PastChanges { changes, degraded }) = changes else { return self };
        self.changes = Some(all(changes));
        self.degraded.extend(degraded);
        let mut seen = HashSet::new();
        self.degraded.retain(|note| seen.insert(note.clone()));
        self
    }
}

impl From<mc_memory::PastChange> for PastChange {
    fn from(change: mc_memory::PastChange) -> Self {
        Self {
            commit: change.commit,
            subject: change.subject,
            date: change.committed_at,
            files: change.files,
            trust: change.trust.into(),
        }
    }
}

fn all<T: Into<U>, U>(items: Vec<T>) -> Vec<U> {
    items.into_iter().map(Into::into).collect()
}

impl From<(Handle, mc_memory::bundle::Statement)> for Statement {
    fn from((handle, statement): (Handle, mc_memory::bundle::Statement)) -> Self {
        Self {
            handle: handle.to_string(),
            id: statement.id.into(),
            text: statement.text,
            full_chars: statement.full_chars,
            kind: statement.kind.into(),
            scope: statement.scope,
            tags: statement.tags,
            trust: statement.trust.into(),
            source: statement.source,
            ci_status: statement.ci_status.map(Into::into),
            score: rounded(statement.score),
            state: statement.state.into(),
            citations: all(statement.citations),
            warning: statement.warning,
        }
    }
}

impl From<CitedPlace> for Citation {
    fn from(place: CitedPlace) -> Self {
        Self {
            file: place.file,
            symbol: place.symbol,
            line_start: place.lines.map(|(start, _)| start),
            line_end: place.lines.map(|(_, end)| end),
            commit: place.commit,
            content_hash: None,
            verdict: place.verdict.into(),
        }
    }
}

impl From<(Handle, mc_memory::bundle::FewShot)> for FewShot {
    fn from((handle, shot): (Handle, mc_memory::bundle::FewShot)) -> Self {
        Self {
            handle: handle.to_string(),
            id: shot.id.into(),
            title: shot.title,
            steps: shot.steps,
            patch_ref: shot.patch_ref,
            text: shot.text,
            full_chars: shot.full_chars,
            scope: shot.scope,
            trust: shot.trust.into(),
            source: shot.source,
            ci_status: shot.ci_status.map(Into::into),
            score: rounded(shot.score),
            warning: shot.warning,
        }
    }
}

impl From<(Handle, mc_memory::bundle::Link)> for Link {
    fn from((handle, link): (Handle, mc_memory::bundle::Link)) -> Self {
        let id = match link.target {
            LinkTarget::Record(id) => id.into(),
            LinkTarget::Doc(id) => id.into(),
        };
        Self {
            handle: handle.to_string(),
            title: link.title,
            url: link.url,
            id,
            trust: link.trust.into(),
            text: link.text,
            full_chars: link.full_chars,
            section: link.section,
            line_start: link.lines.map(|(start, _)| start),
            line_end: link.lines.map(|(_, end)| end),
        }
    }
}

impl From<(Handle, mc_memory::bundle::DialogExcerpt)> for DialogExcerpt {
    fn from((handle, talk): (Handle, mc_memory::bundle::DialogExcerpt)) -> Self {
        Self {
            handle: handle.to_string(),
            id: talk.id.into(),
            text: talk.text,
            trust: talk.trust.into(),
            score: rounded(talk.score),
        }
    }
}

impl From<(Handle, CodePlace)> for CodeItem {
    fn from((handle, place): (Handle, CodePlace)) -> Self {
        Self {
            handle: handle.to_string(),
            location: place.location,
            line_start: place.line_start,
            line_end: place.line_end,
            symbol: place.symbol,
            summary: place.summary,
            trust: place.trust.into(),
        }
    }
}

impl From<mc_memory::bundle::TaskSummary> for TaskSummary {
    fn from(task: mc_memory::bundle::TaskSummary) -> Self {
        Self { external_id: task.external_id, title: task.title, status: task.status }
    }
}
