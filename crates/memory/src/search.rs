//! Search over all sources, by words and issue ids. Passages linked to a named issue come first,
//! and an id is matched as a whole.

use std::collections::HashSet;

use mc_domain::PassageId;
use mc_sanitizer::mask_with;
use mc_search::{Hit, Options, Query, SearchResponse};
use mc_store::passages::{IndexedPassage, PassageFilter};
use regex::Regex;
use tokio::time::timeout;

use crate::task_links::{TaskLinks, find_task_links};
use crate::{Error, MemoryContext, task_ids};

/// A query with its filters.
#[derive(Debug, Clone)]
pub struct SearchRequest {
    /// Words and names; the text may be empty if a task is named.
    pub query: Query,
    /// Task, by the tracker's id: `SHOP-12`, `owner/name#12`, or `#12` of any repository.
    pub task_external_id: Option<String>,
    /// Filters, limit and time budget.
    pub options: Options,
}

/// Results, best first.
#[derive(Debug, Default)]
pub struct Found {
    /// Hits. Passages linked to a named task come first, newest first, with score 1.
    pub hits: Vec<Hit>,
    /// Passages linked to a named task, whether among the hits or not.
    pub linked: HashSet<PassageId>,
    /// Of these, open proposals of the caller. They have no passage; the number is the record's.
    pub own_proposals: HashSet<PassageId>,
    /// Parts that were late or failed and were left out.
    pub degraded: Vec<String>,
}

/// Searches. Passages linked to named tasks come first if the filter allows them.
pub async fn search(ctx: &MemoryContext, request: &SearchRequest) -> Result<Found, Error> {
    let SearchRequest { query, task_external_id, options } = request;
    let task = task_external_id.as_deref();
    let task = task.map(|task| mask_with(task.trim(), &ctx.search.sanitizing).text.into_string());
    let ids = task_ids::collect(task, [query.text.as_str()]);
    if ids.is_empty() {
        return Ok(mc_search::search(&ctx.search, query, options).await?.into());
    }
    let links =
        timeout(options.time_budget, find_task_links(&ctx.store, query.filter.project, &ids, &[]));
    let words = Query { text: task_ids::strip(&query.text), ids: ids.clone(), ..query.clone() };
    let searched = mc_search::search(&ctx.search, &words, options);
    let (searched, links) = tokio::join!(searched, links);
    let mut found = Found::from(searched?);
    let Ok(links) = links else {
        found.degraded.push("links to tasks: late".to_owned());
        return Ok(found);
    };
    let (mut hits, TaskLinks { passages, own_proposals }) = links?;
    let is_allowed = allows(&query.filter);
    hits.retain(|hit| is_allowed(&hit.passage.indexed));
    for hit in &mut hits {
        hit.score = 1.0;
    }
    let is_new = |hit: &Hit| !passages.contains(&hit.passage.indexed.id);
    hits.extend(found.hits.into_iter().filter(is_new));
    hits.truncate(options.limit);
    Ok(Found { hits, linked: passages, own_proposals, degraded: found.degraded })
}

impl From<SearchResponse> for Found {
    fn from(outcome: SearchResponse) -> Self {
        Self { hits: outcome.hits, degraded: outcome.degraded, ..Self::default() }
    }
}

/// Whether a filter allows a passage, by the same rules as the retrievers.
fn allows(filter: &PassageFilter) -> impl Fn(&IndexedPassage) -> bool + '_ {
    // Converted from a glob; an invalid one allows nothing.
    let path = filter.path_regex.as_ref().map(|regex| Regex::new(&format!("^(?:{regex})$")).ok());
    move |passage| {
        let any_of = |wanted: &[String], has: &[String]| {
            wanted.is_empty() || wanted.iter().any(|value| has.contains(value))
        };
        let kinds = &filter.record_kinds;
        filter.searched_sources().contains(&passage.source)
            && (kinds.is_empty() || kinds.iter().any(|kind| kind.as_str() == passage.record_kind))
            && any_of(&filter.scope, &passage.scope)
            && any_of(&filter.tags, &passage.tags)
            && (filter.repositories.is_empty()
                || passage.repository.is_some_and(|id| filter.repositories.contains(&id)))
            && any_of(&filter.languages, std::slice::from_ref(&passage.language))
            && path.as_ref().is_none_or(|path| {
                path.as_ref().is_some_and(|path| path.is_match(&passage.location))
            })
    }
}
