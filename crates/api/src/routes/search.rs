//! `/search`: hybrid search over memory, documents, code and dialogs.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use mc_contract::ValidationError;
use mc_contract::number::TimeBudget;
use mc_contract::number::rounded;
use mc_contract::operations::search::{
    Adjustment, Explanation, RetrieverScore, SearchRequest, SearchResponse, SearchResult,
    SymbolMatch,
};
use mc_domain::{Permission, ProjectId, ReadKind};
use mc_integrations::issue_reference;
use mc_memory::Found;
use mc_search::{Explain, Hit, Options, Query};
use mc_store::passages::{Passage, PassageFilter};

use super::symbol_match;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::JsonBody;
use crate::openapi::Access;
use crate::problem::Problem;

/// Milliseconds for a search that names no limit: people wait for it, a prompt does not.
const DEFAULT_TIME_BUDGET_MS: u64 = 2_000;

/// Search memory, documents, code and dialogs.
///
/// Returns passages with their scores, best first; `degraded` names retrievers that were late.
/// Commits are searched only by a request whose `sources` has `change`.
#[utoipa::path(
    post, path = "/search", tag = "memory", request_body = SearchRequest,
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "Best first", body = SearchResponse))
)]
pub async fn search(
    State(api): State<ApiState>,
    caller: Principal,
    JsonBody(request): JsonBody<SearchRequest>,
) -> Result<Json<SearchResponse>, Problem> {
    let here = api.authorize(&caller, &request.project_key, Permission::Read).await?;
    let request = domain_request(request, here.project.id)?;
    let found = Box::pin(mc_memory::search(&here.memory, &request)).await?;
    let matched = symbol_match::matches(&here.store, &request.query, &found.hits).await?;
    here.count_read(ReadKind::Search);
    let Found { hits, linked, own_proposals, degraded } = found;
    let result = |(hit, matched_symbol): (Hit, Option<SymbolMatch>)| {
        let id = hit.passage.indexed.id;
        SearchResult {
            matched_symbol,
            is_linked: linked.contains(&id),
            is_proposed: own_proposals.contains(&id),
            ..search_result(hit)
        }
    };
    let results = hits.into_iter().zip(matched).map(result).collect();
    Ok(Json(SearchResponse { results, degraded, pending_vectors: here.queue().await?.pending }))
}

fn domain_request(
    request: SearchRequest,
    project: ProjectId,
) -> Result<mc_memory::SearchRequest, ValidationError> {
    let language = |language: String| {
        mc_indexer::language::from_name(&language)
            .map(str::to_owned)
            .map_err(|error| ValidationError::new("language", error))
    };
    let path_regex = |glob: String| {
        mc_search::glob::to_regex(&glob).map_err(|error| ValidationError::new("path", error))
    };
    let mut sources = request.sources;
    sources.dedup();
    let filter = PassageFilter {
        sources,
        record_kinds: request.kinds,
        scope: request.scope.into_items(),
        tags: request.tags.into_items(),
        languages: request
            .language
            .map(|name| language(name.into()))
            .transpose()?
            .into_iter()
            .collect(),
        path_regex: request.path.map(|glob| path_regex(glob.into())).transpose()?,
        ..PassageFilter::project(project)
    };
    let milliseconds = request.time_budget_ms.map_or(DEFAULT_TIME_BUDGET_MS, TimeBudget::get);
    Ok(mc_memory::SearchRequest {
        query: Query::text(request.query.map(String::from).unwrap_or_default(), filter),
        task_external_id: request
            .task_external_id
            .map(|id| issue_reference::resolve_for_reading(id.into())),
        options: Options {
            limit: request.limit.unwrap_or_default().get(),
            time_budget: Duration::from_millis(milliseconds),
            explain: request.explain,
            disabled_steps: request.disabled_steps.into_iter().collect(),
            ..Options::default()
        },
    })
}

fn search_result(hit: Hit) -> SearchResult {
    let trust = mc_memory::bundle::trust(&hit.passage);
    let Passage { indexed, updated_at, record, code, doc, dialog: _, commit: _ } = hit.passage;
    let code_lines = code.as_ref().map(|code| (code.line_start, code.line_end));
    let lines = code_lines.or(doc.as_ref().and_then(|doc| doc.lines));
    SearchResult {
        id: indexed.id,
        source: indexed.source,
        kind: record.as_ref().map(|record| record.kind),
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
        score: rounded(hit.score),
        is_linked: false,
        is_proposed: false,
        trust,
        state: record.as_ref().map(|record| record.state),
        record_id: record.map(|record| record.id),
        doc_id: doc.map(|doc| doc.id),
        updated_at,
        explain: hit.explain.map(explanation),
    }
}

fn explanation(explain: Explain) -> Explanation {
    let retriever = |found: mc_search::RetrieverRank| RetrieverScore {
        retriever: found.retriever.as_str().to_owned(),
        rank: found.rank,
        score: rounded(found.score),
        contribution: rounded(found.contribution),
    };
    let adjustment = |step: mc_search::Adjustment| Adjustment {
        name: step.step.as_str().to_owned(),
        factor: rounded(step.factor),
    };
    Explanation {
        retrievers: explain.retrievers.into_iter().map(retriever).collect(),
        fused_score: rounded(explain.fused_score),
        adjustments: explain.adjustments.into_iter().map(adjustment).collect(),
        adjusted_score: rounded(explain.adjusted_score),
    }
}
