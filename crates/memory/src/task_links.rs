//! Passages tied to issues and to places in the code, as hits that no search has ranked.

use std::collections::HashSet;

use mc_domain::{PassageId, ProjectId};
use mc_search::Hit;
use mc_store::passages::{self, Passage};
use mc_store::{Store, ties};

/// Passages that are linked to the tasks of a query.
#[derive(Debug, Default)]
pub(crate) struct TaskLinks {
    pub passages: HashSet<PassageId>,
    /// Of these, open proposals of the caller.
    pub own_proposals: HashSet<PassageId>,
}

/// Finds the passages tied to these tasks and paths, those linked to a task first.
pub(crate) async fn find_task_links(
    store: &Store,
    project: ProjectId,
    task_ids: &[String],
    paths: &[String],
) -> Result<(Vec<Hit>, TaskLinks), mc_store::Error> {
    let ties = ties::find(store, project, task_ids, paths).await?;
    let mut linked = TaskLinks {
        passages: ties.iter().filter(|tie| tie.is_of_task).map(|tie| tie.passage).collect(),
        own_proposals: HashSet::new(),
    };
    let ids: Vec<_> = ties.iter().map(|tie| tie.passage).collect();
    let mut passages = match ids.as_slice() {
        [] => Vec::new(),
        ids => passages::load(store, project, ids).await?,
    };
    passages.sort_by_key(|passage| ids.iter().position(|id| *id == passage.indexed.id));
    if !task_ids.is_empty() {
        let proposed = Box::pin(ties::own_proposals(store, project, task_ids)).await?;
        let proposed: Vec<_> = proposed.into_iter().map(Passage::unsearched).collect();
        linked.own_proposals = proposed.iter().map(|passage| passage.indexed.id).collect();
        linked.passages.extend(&linked.own_proposals);
        passages.extend(proposed);
    }
    Ok((passages.into_iter().map(Hit::looked_up).collect(), linked))
}
