//! `/search`: hybrid search over memory, documents, code and dialogs.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use mc_domain::{Permission, ProjectId, ProjectKey, SourceKind};
use mc_memory::Found;
use mc_search::{Explain, Hit, Options, Query};
use mc_store::passages::{Passage, PassageFilter};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::symbol_match::{self, SymbolMatch};
use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::ValidJson;
use crate::limits;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};
use crate::wire::{Kind, RankingStep, Source, State as RecordState, Trust, whole};

/// What to look for, and where. At least one of `query` and `task_external_id` says what.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "project_key": "shop",
    "query": "CartSessions::Setting#trigger_delay_time_in_minutes",
    "sources": ["code"],
    "path": "app/**/*.rb",
    "limit": 5
}))]
pub struct SearchRequest {
    #[schema(value_type = schemas::ProjectKey)]
    project_key: String,
    /// Words and names. What is linked to issues whose ids are in it (`#12`, `owner/name#12`, `SHOP-12`) comes first; an
    /// id finds besides what names it as a whole. May be absent where `task_external_id` is given.
    #[serde(default)]
    #[schema(value_type = Option<schemas::QueryText>)]
    query: Option<String>,
    /// The issue at hand, by the tracker's id: what is linked to it comes first.
    #[schema(value_type = Option<schemas::ExternalId>)]
    task_external_id: Option<String>,
    /// Any but `change` when empty. Changes are commits of indexed repositories; they are searched alone. A search
    /// over `code` alone ranks files higher that similar changes touched.
    #[serde(default)]
    #[schema(max_items = 64)]
    sources: Vec<Source>,
    /// Kinds of memory record; any when empty.
    #[serde(default)]
    #[schema(max_items = 64)]
    kinds: Vec<Kind>,
    /// At least one of them; any when empty.
    #[serde(default)]
    #[schema(value_type = schemas::Words)]
    scope: Vec<String>,
    /// At least one of them; any when empty.
    #[serde(default)]
    #[schema(value_type = schemas::Words)]
    tags: Vec<String>,
    /// A glob that the place must match, such as `app/**/*.rb`.
    #[schema(value_type = Option<schemas::Glob>)]
    path: Option<String>,
    /// Such as `ruby`; an alias (`golang`, `c++`) or an extension (`.rs`, `ts`) will do.
    #[schema(value_type = Option<schemas::Language>)]
    language: Option<String>,
    /// 1 to 100; 10 when absent.
    #[serde(default, deserialize_with = "whole")]
    #[schema(value_type = Option<schemas::SearchLimit>)]
    limit: Option<i64>,
    /// Show how each score came about.
    #[serde(default)]
    explain: bool,
    /// Milliseconds after which a late leg is left out.
    #[serde(default, deserialize_with = "whole")]
    #[schema(value_type = Option<schemas::TimeBudget>)]
    time_budget_ms: Option<i64>,
    /// Steps of the ranking to leave out, to see what they are worth.
    #[serde(default)]
    disabled_steps: Vec<RankingStep>,
}

/// A [`SearchRequest`] as checked.
#[derive(Debug)]
pub struct ValidatedSearch {
    project: ProjectKey,
    /// Empty where nothing but an issue is asked about.
    text: String,
    task: Option<String>,
    /// Its project is put in when that is known.
    filter: PassageFilter,
    options: Options,
}

impl Validate for SearchRequest {
    type Checked = ValidatedSearch;

    fn check(self) -> Result<ValidatedSearch, ValidationError> {
        let limit = self.limit.unwrap_or(limits::DEFAULT_SEARCH_LIMIT);
        let budget = self.time_budget_ms.unwrap_or(limits::DEFAULT_SEARCH_BUDGET_MS);
        let language = validate::optional("language", self.language, |field, name| {
            validate::language(field, &name)
        })?;
        let task = self.task_external_id;
        let task = validate::optional_identifier("task_external_id", task, limits::EXTERNAL_ID)?;
        let text = validate::optional_text("query", self.query, limits::QUERY)?;
        if text.is_none() && task.is_none() {
            return Err(ValidationError::new(
                "query",
                "say what to look for: query or task_external_id",
            ));
        }
        Ok(ValidatedSearch {
            project: validate::project_key("project_key", &self.project_key)?,
            text: text.unwrap_or_default(),
            task,
            filter: PassageFilter {
                sources: sources(self.sources)?,
                record_kinds: validate::list("kinds", self.kinds, limits::WORDS, into)?,
                scope: validate::words("scope", self.scope)?,
                tags: validate::words("tags", self.tags)?,
                languages: language.into_iter().collect(),
                path_regex: validate::optional("path", self.path, |f, glob| {
                    validate::glob(f, &glob)
                })?,
                ..PassageFilter::project(ProjectId(Uuid::nil()))
            },
            options: Options {
                limit: validate::range("limit", limit, &limits::SEARCH_LIMIT)?,
                time_budget: validate::milliseconds("time_budget_ms", budget)?,
                explain: self.explain,
                disabled_steps: self.disabled_steps.into_iter().map(Into::into).collect(),
                ..Options::default()
            },
        })
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the form that check::list takes")]
fn into<T: Into<U>, U>(_field: &str, value: T) -> Result<U, ValidationError> {
    Ok(value.into())
}

/// Commits are ranked among themselves, so they are asked for alone.
fn sources(sources: Vec<Source>) -> Result<Vec<SourceKind>, ValidationError> {
    let mut sources: Vec<SourceKind> = validate::list("sources", sources, limits::WORDS, into)?;
    sources.dedup();
    if sources.len() > 1 && sources.contains(&SourceKind::Change) {
        return Err(ValidationError::new(
            "sources",
            "\"change\" can't be combined with other sources; search for changes in a request of their own",
        ));
    }
    Ok(sources)
}

/// What was found, best first.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchResponse {
    results: Vec<SearchResult>,
    /// Legs that were late or failed and were left out.
    degraded: Vec<String>,
    /// Passages of the project that keyword search finds and vector search does not yet.
    pending_vectors: i64,
}

/// One passage.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchResult {
    /// The passage.
    id: Uuid,
    source: Source,
    /// Of a memory record.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<Kind>,
    title: String,
    /// File path or URL; of a change the commit.
    location: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line_start: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line_end: Option<i32>,
    /// The enclosing definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    symbol: Option<String>,
    /// Definitions in it.
    symbols: Vec<String>,
    /// The one of them that the query names.
    #[serde(skip_serializing_if = "Option::is_none")]
    matched_symbol: Option<SymbolMatch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    text: String,
    score: f32,
    /// Linked to an issue that the request names: such results come first, whatever they say.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    linked: bool,
    /// A proposal of the caller's own, which nobody has decided about and no other search finds.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    proposed: bool,
    /// Who vouches for it.
    trust: Trust,
    /// Of a memory record.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<RecordState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    record_id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    doc_id: Option<Uuid>,
    updated_at: DateTime<Utc>,
    /// How the score came about.
    #[serde(skip_serializing_if = "Option::is_none")]
    explain: Option<Explanation>,
}

/// How a score came about: `fused` times every factor is `product`, and the score is
/// `product / (1 + product)`.
#[derive(Debug, Serialize, ToSchema)]
pub struct Explanation {
    /// Where each leg put it.
    retrievers: Vec<RetrieverScore>,
    /// Sum of what the legs gave.
    fused_score: f32,
    adjustments: Vec<Adjustment>,
    adjusted_score: f32,
}

/// Where a leg put a result.
#[derive(Debug, Serialize, ToSchema)]
pub struct RetrieverScore {
    /// `exact`, `keyword`, `vector` or `history`.
    retriever: &'static str,
    /// From 1.
    rank: usize,
    /// The leg's own: weight of names, BM25, cosine similarity, or how much similar past changes touched the file
    /// (1 for the file that they touched most).
    score: f32,
    /// What it gave to `fused`.
    contribution: f32,
}

/// A step of the rerank that changed a score.
#[derive(Debug, Serialize, ToSchema)]
pub struct Adjustment {
    name: &'static str,
    factor: f32,
}

/// Search memory, documents, code and dialogs.
#[utoipa::path(
    post, path = "/search", tag = "memory", request_body = SearchRequest,
    responses((status = 200, description = "Best first", body = SearchResponse))
)]
pub async fn search(
    State(api): State<ApiState>,
    caller: Principal,
    ValidJson(request): ValidJson<SearchRequest>,
) -> Result<Json<SearchResponse>, Problem> {
    let here = api.authorize(&caller, &request.project, Permission::Read).await?;
    let filter = PassageFilter { project: here.project.id, ..request.filter };
    let query = Query::text(request.text, filter);
    let asked = mc_memory::SearchRequest {
        query,
        task_external_id: request.task,
        options: request.options,
    };
    let Found { hits, linked, own_proposals, degraded } =
        Box::pin(mc_memory::search(&here.memory, &asked)).await?;
    let matched = symbol_match::matches(&here.store, &asked.query, &hits).await?;
    let view = |(hit, matched_symbol): (Hit, Option<SymbolMatch>)| {
        let id = hit.passage.indexed.id;
        SearchResult {
            matched_symbol,
            linked: linked.contains(&id),
            proposed: own_proposals.contains(&id),
            ..hit.into()
        }
    };
    let results = hits.into_iter().zip(matched).map(view).collect();
    Ok(Json(SearchResponse { results, degraded, pending_vectors: here.queue().await?.pending }))
}

impl From<Hit> for SearchResult {
    fn from(hit: Hit) -> Self {
        let trust = mc_memory::bundle::trust(&hit.passage).into();
        let Passage { indexed, updated_at, record, code, doc, dialog: _, commit: _ } = hit.passage;
        let of_code = code.as_ref().map(|code| (code.line_start, code.line_end));
        let lines = of_code.or(doc.as_ref().and_then(|doc| doc.lines));
        Self {
            id: indexed.id.into(),
            source: indexed.source.into(),
            kind: record.as_ref().map(|record| record.kind.into()),
            title: indexed.title,
            location: indexed.location,
            url: doc.as_ref().map(|doc| doc.url.clone()).filter(|url| !url.is_empty()),
            line_start: lines.map(|(start, _)| start),
            line_end: lines.map(|(_, end)| end),
            symbol: code.and_then(|code| code.parent_symbol),
            symbols: indexed.symbols,
            matched_symbol: None,
            language: Some(indexed.language).filter(|language| !language.is_empty()),
            text: indexed.text,
            score: hit.score,
            linked: false,
            proposed: false,
            trust,
            state: record.as_ref().map(|record| record.state.into()),
            record_id: record.map(|record| record.id.into()),
            doc_id: doc.map(|doc| doc.id.into()),
            updated_at,
            explain: hit.explain.map(Into::into),
        }
    }
}

impl From<Explain> for Explanation {
    fn from(explain: Explain) -> Self {
        let leg = |found: mc_search::LegRank| RetrieverScore {
            retriever: found.retriever.as_str(),
            rank: found.rank,
            score: found.score,
            contribution: found.contribution,
        };
        let adjustment = |step: mc_search::Adjustment| Adjustment {
            name: step.step.as_str(),
            factor: step.factor,
        };
        Self {
            retrievers: explain.retrievers.into_iter().map(leg).collect(),
            fused_score: explain.fused_score,
            adjustments: explain.adjustments.into_iter().map(adjustment).collect(),
            adjusted_score: explain.adjusted_score,
        }
    }
}
