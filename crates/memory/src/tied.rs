//! What is tied to issues and to places in the code, as hits of no search.

use std::collections::HashSet;

use mc_domain::{PassageId, ProjectId};
use mc_search::Hit;
use mc_store::passages::{self, Passage};
use mc_store::{Store, ties};

/// What is linked to the tasks that are asked about.
#[derive(Debug, Default)]
pub(crate) struct Linked {
    pub passages: HashSet<PassageId>,
    /// Of these, what whoever asks has proposed, and nobody has decided about.
    pub own_proposals: HashSet<PassageId>,
}

/// What is tied to these tasks and paths, what is linked to the tasks first, and which of it that is.
pub(crate) async fn tied(
    store: &Store,
    project: ProjectId,
    task_ids: &[String],
    paths: &[String],
) -> Result<(Vec<Hit>, Linked), mc_store::Error> {
    let tied = ties::find(store, project, task_ids, paths).await?;
    let mut linked = Linked {
        passages: tied.iter().filter(|tied| tied.is_of_task).map(|tied| tied.passage).collect(),
        own_proposals: HashSet::new(),
    };
    let ids: Vec<_> = tied.iter().map(|tied| tied.passage).collect();
    let mut found = match ids.as_slice() {
        [] => Vec::new(),
        ids => passages::load(store, project, ids).await?,
    };
    found.sort_by_key(|passage| ids.iter().position(|id| *id == passage.indexed.id));
    if !task_ids.is_empty() {
        let proposed = Box::pin(ties::own_proposals(store, project, task_ids)).await?;
        let proposed: Vec<_> = proposed.into_iter().map(Passage::unsearched).collect();
        linked.own_proposals = proposed.iter().map(|passage| passage.indexed.id).collect();
        linked.passages.extend(&linked.own_proposals);
        found.extend(proposed);
    }
    Ok((found.into_iter().map(Hit::looked_up).collect(), linked))
}
