//! Search in everything, by words and by the issues that are named: what is linked to them comes
//! first, and an id counts as a whole, not by the words in it.

use std::collections::HashSet;

use mc_domain::PassageId;
use mc_sanitizer::mask_with;
use mc_search::{Hit, Options, Query, SearchResponse};
use mc_store::passages::{IndexedPassage, PassageFilter};
use regex::Regex;
use tokio::time::timeout;

use crate::task_links::{TaskLinks, find_task_links};
use crate::{Error, MemoryContext, task_ids};

/// What to look for, and where.
#[derive(Debug, Clone)]
pub struct SearchRequest {
    /// Words and names; its text may be empty where a task is named.
    pub query: Query,
    /// The task at hand, by the tracker's id: `SHOP-12`, `owner/name#12`, or `#12` for an issue of
    /// any repository.
    pub task_external_id: Option<String>,
    /// How.
    pub options: Options,
}

/// What was found, best first.
#[derive(Debug, Default)]
pub struct Found {
    /// What is linked to a task that was named, newest first, before what was searched for. The
    /// linked have the highest score, 1, and no `explain`.
    pub hits: Vec<Hit>,
    /// What is linked to a task that was named, whether it is among the hits or not.
    pub linked: HashSet<PassageId>,
    /// Of that, proposals of the caller's own, which nobody has decided about. They have no
    /// passage; the number is the record's.
    pub own_proposals: HashSet<PassageId>,
    /// What was late or failed and was left out.
    pub degraded: Vec<String>,
}

/// Searches; what is linked to the tasks that the request names, by its own field or in the text,
/// comes first, as far as the filter lets it through.
pub async fn search(ctx: &MemoryContext, request: &SearchRequest) -> Result<Found, Error> {
    let SearchRequest { query, task_external_id, options } = request;
    let task = task_external_id.as_deref();
    let task = task.map(|task| mask_with(task.trim(), &ctx.search.sanitizing).text.into_string());
    let ids = task_ids::collect(task, [query.text.as_str()]);
    if ids.is_empty() {
        return Ok(mc_search::search(&ctx.search, query, options).await?.into());
    }
    let looked_up =
        timeout(options.time_budget, find_task_links(&ctx.store, query.filter.project, &ids, &[]));
    let words = Query { text: task_ids::strip(&query.text), ids: ids.clone(), ..query.clone() };
    let searched = mc_search::search(&ctx.search, &words, options);
    let (searched, looked_up) = tokio::join!(searched, looked_up);
    let mut found = Found::from(searched?);
    let Ok(looked_up) = looked_up else {
        found.degraded.push("links to tasks: late".to_owned());
        return Ok(found);
    };
    let (mut hits, TaskLinks { passages, own_proposals }) = looked_up?;
    let is_let_through = let_through(&query.filter);
    hits.retain(|hit| is_let_through(&hit.passage.indexed));
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

/// Whether a filter lets a passage through, as the legs of a search have it.
fn let_through(filter: &PassageFilter) -> impl Fn(&IndexedPassage) -> bool + '_ {
    // A glob of ours; one that can't be read lets nothing through.
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
            && any_of(&filter.languages, std::slice::from_ref(&passage.language))
            && path.as_ref().is_none_or(|path| {
                path.as_ref().is_some_and(|path| path.is_match(&passage.location))
            })
    }
}
