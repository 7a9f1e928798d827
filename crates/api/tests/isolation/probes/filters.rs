//! The filters of the code without the policies of PostgreSQL: results of the store and the search
//! for a project when their role sees all rows.

use std::fmt::Debug;
use std::time::Duration;

use mc_domain::{
    DeliveryId, DialogId, DocId, DuplicateClusterId, ExportId, HygieneRunId, IntegrationId,
    PassageId, ProjectId, PullRequestId, SourceKind, UserId, WebhookId, WorkspaceId,
};
use mc_search::{Options, Query, SearchContext};
use mc_store::hygiene::ReportFilter;
use mc_store::passages::PassageFilter;
use mc_store::patches::PatchFilter;
use mc_store::pull_requests::PullRequestFilter;
use mc_store::records::RecordFilter;
use mc_store::webhooks::DeliveryFilter;
use mc_store::workspaces::WorkspaceFilter;
use mc_store::{
    ci_results, dialogs, docs, duplicates, exports, hygiene, integrations, passages, patches,
    projects, pull_requests, records, repositories, tasks, vectors, webhooks, workspaces,
};

use crate::marks::{Places, ids_in, marks_in};
use crate::run::Fault;
use crate::world::{Person, Project, Thing, World, vector};

pub async fn filters(world: &World) -> Result<(), Fault> {
    let [ours, theirs] = [0, 1].map(|tenant| {
        world.projects.iter().find(|one| one.is_main && one.tenant == tenant).expect("two tenants")
    });
    own_only(world, ours, theirs).await?;
    own_webhooks(world, ours, theirs).await?;
    own_pull_requests(world, ours, theirs).await?;
    own_hygiene(world, ours, theirs).await?;
    own_workspaces(world, ours).await?;
    own_patches(world, ours, theirs).await?;
    foreign_webhooks_stay(world, ours, theirs).await?;
    own_integrations(world, ours, theirs).await?;
    counts(world, ours).await?;
    searched(world, ours, theirs).await?;
    private_words(world, ours).await
}

async fn own_only(world: &World, ours: &Project, theirs: &Project) -> Result<(), Fault> {
    let (store, here) = (world.database.store(), ProjectId(ours.id));
    let look = Look { world, ours };
    let foreign: Vec<PassageId> = theirs.passages.iter().map(|thing| thing.id.into()).collect();
    look.at("passages::load", passages::load(store, here, &foreign).await)?;
    for Named { doc, task, repository, dialog } in names(theirs).into_iter().chain(names(ours)) {
        look.at("docs::by_id", docs::by_id(store, here, doc.0).await)?;
        look.at("docs::by_title", docs::by_title(store, here, &doc.1).await)?;
        look.at("docs::titles_like", docs::titles_like(store, here, &doc.1, 50).await)?;
        look.at("docs::by_url", docs::by_url(store, here, &doc.2).await)?;
        look.at("tasks::find", tasks::find(store, here, &task).await)?;
        look.at("repositories::find", repositories::find(store, here, "team", &repository).await)?;
        let exists =
            dialogs::exists(store, here, dialog).await.map_err(|error| error.to_string())?;
        if exists != ours.dialogs.iter().any(|one| one.id == dialog.0) {
            return Err(format!("dialogs::exists says {exists} of {dialog}"));
        }
    }
    look.at("docs::list", docs::list(store, here, None, 200).await)?;
    look.at(
        "records::list",
        records::list(store, here, &RecordFilter::default(), None, 200).await,
    )?;
    look.at("repositories::list", repositories::list(store, here).await)
}

/// Webhooks and their deliveries, also by ids of the other project.
async fn own_webhooks(world: &World, ours: &Project, theirs: &Project) -> Result<(), Fault> {
    let (store, here) = (world.database.store(), ProjectId(ours.id));
    let look = Look { world, ours };
    look.at("webhooks::list", webhooks::list(store, here).await)?;
    let all = DeliveryFilter::default();
    look.at("webhooks::list_deliveries", webhooks::list_deliveries(store, here, all, 200).await)?;
    for webhook in ours.webhooks.iter().chain(&theirs.webhooks) {
        let filter = DeliveryFilter { webhook_id: Some(WebhookId(webhook.id)), ..all };
        look.at(
            "webhooks::list_deliveries",
            webhooks::list_deliveries(store, here, filter, 200).await,
        )?;
    }
    for one in ours.deliveries.iter().chain(&theirs.deliveries) {
        look.at(
            "webhooks::find_delivery",
            webhooks::find_delivery(store, here, DeliveryId(one.id)).await,
        )?;
    }
    Ok(())
}

/// Pull requests and their CI results, also by names of the other project.
async fn own_pull_requests(world: &World, ours: &Project, theirs: &Project) -> Result<(), Fault> {
    let (store, here) = (world.database.store(), ProjectId(ours.id));
    let look = Look { world, ours };
    let all = PullRequestFilter::default();
    look.at("changes::list", pull_requests::list(store, here, &all, 200).await)?;
    for one in ours.changes.iter().chain(&theirs.changes) {
        let id = PullRequestId(one.id);
        look.at("changes::find", pull_requests::find(store, here, id).await)?;
        look.at("changes::records", pull_requests::records(store, here, id).await)?;
        let head = format!("head {}", one.mark);
        look.at("ci::of_commit", ci_results::of_commit(store, here, &head).await)?;
    }
    for task in ours.tasks.iter().chain(&theirs.tasks) {
        let filter = PullRequestFilter { task: Some(task.name.clone()), ..all.clone() };
        look.at("changes::list", pull_requests::list(store, here, &filter, 200).await)?;
    }
    Ok(())
}

/// Hygiene runs and their results, also by ids of the other project.
async fn own_hygiene(world: &World, ours: &Project, theirs: &Project) -> Result<(), Fault> {
    let (store, here) = (world.database.store(), ProjectId(ours.id));
    let look = Look { world, ours };
    let all = ReportFilter::default();
    look.at("hygiene::list", hygiene::list(store, here, all, 200).await)?;
    look.at("duplicates::waiting", duplicates::list_open(store, here, None, 200).await)?;
    look.at("duplicates::notes", duplicates::list_candidates(store, here, None, 200).await)?;
    for one in ours.reports.iter().chain(&theirs.reports) {
        look.at("hygiene::find", hygiene::find(store, here, HygieneRunId(one.id)).await)?;
    }
    look.at("exports::list", exports::list(store, here).await)?;
    for one in &theirs.exports {
        nothing("exports::document", exports::document(store, here, ExportId(one.id)).await)?;
    }
    let tx = &mut store.begin().await.map_err(|error| error.to_string())?;
    for one in &theirs.clusters {
        nothing("duplicates::lock", duplicates::lock(tx, here, DuplicateClusterId(one.id)).await)?;
    }
    Ok(())
}

/// Workspaces, also of a person who has some in other projects.
async fn own_workspaces(world: &World, ours: &Project) -> Result<(), Fault> {
    let (store, here) = (world.database.store(), ProjectId(ours.id));
    let look = Look { world, ours };
    let owners = ours.privates.iter().map(|private| Some(UserId(private.owner)));
    for owner in owners.chain([None]) {
        let filter = WorkspaceFilter { owner, cursor: None };
        let found = workspaces::list(store, here, filter, 200).await;
        let expected = if owner.is_some() { 1 } else { ours.workspaces.len() };
        if !found.as_ref().is_ok_and(|found| found.len() == expected) {
            return Err(format!("workspaces::list finds not {expected}: {found:?}"));
        }
        look.at("workspaces::list", found)?;
    }
    Ok(())
}

/// Patches, also of a person who has some in other projects, and by workspaces of the other one.
async fn own_patches(world: &World, ours: &Project, theirs: &Project) -> Result<(), Fault> {
    let (store, here) = (world.database.store(), ProjectId(ours.id));
    let look = Look { world, ours };
    let mut filters = vec![(PatchFilter::default(), ours.patches.len())];
    for private in &ours.privates {
        let author = Some(UserId(private.owner));
        filters.push((PatchFilter { author, ..PatchFilter::default() }, 1));
    }
    for (expected, things) in [(1, &ours.workspaces), (0, &theirs.workspaces)] {
        for thing in things {
            let workspace = Some(WorkspaceId(thing.id));
            filters.push((PatchFilter { workspace, ..PatchFilter::default() }, expected));
        }
    }
    for (filter, expected) in filters {
        let found = patches::list(store, here, filter, 200).await;
        if !found.as_ref().is_ok_and(|found| found.len() == expected) {
            return Err(format!("patches::list finds not {expected}: {found:?}"));
        }
        look.at("patches::list", found)?;
    }
    Ok(())
}

/// Changes of webhooks and deliveries by ids of the other project; all are rolled back.
async fn foreign_webhooks_stay(
    world: &World,
    ours: &Project,
    theirs: &Project,
) -> Result<(), Fault> {
    let here = ProjectId(ours.id);
    let tx = &mut world.database.store().begin().await.map_err(|error| error.to_string())?;
    for id in theirs.webhooks.iter().map(|webhook| WebhookId(webhook.id)) {
        let changed = webhooks::rotate_secret(tx, here, id, b"none", Duration::ZERO).await;
        nothing("webhooks::rotate_secret", changed)?;
        nothing("webhooks::delete", webhooks::delete(tx, here, id).await)?;
    }
    for id in theirs.deliveries.iter().map(|one| DeliveryId(one.id)) {
        nothing("webhooks::replay", webhooks::replay(tx, here, id).await)?;
    }
    Ok(())
}

/// Integrations, also by ids of the other project. Changes affect no integration of it, and are
/// rolled back.
async fn own_integrations(world: &World, ours: &Project, theirs: &Project) -> Result<(), Fault> {
    let (store, here) = (world.database.store(), ProjectId(ours.id));
    let look = Look { world, ours };
    look.at("integrations::list", integrations::list(store, here).await)?;
    look.at("integrations::health", integrations::health(store, Some(here)).await)?;
    for id in theirs.integrations.iter().map(|one| IntegrationId(one.id)) {
        look.at("integrations::find", integrations::find(store, here, id).await)?;
        let tx = &mut store.begin().await.map_err(|error| error.to_string())?;
        let change =
            integrations::IntegrationUpdate { is_paused: Some(true), ..Default::default() };
        let changed = integrations::update(tx, here, id, &change).await;
        nothing("integrations::update", changed.map(|is_there| is_there.then_some(())))?;
        let asked = integrations::request_sync(tx, here, id).await;
        nothing("integrations::request_sync", asked.map(|is_there| is_there.then_some(())))?;
        nothing("integrations::delete", integrations::delete(tx, here, id).await)?;
    }
    Ok(())
}

fn nothing<T: Debug, E: Debug>(what: &str, done: Result<Option<T>, E>) -> Result<(), Fault> {
    match done {
        Ok(None) => Ok(()),
        other => Err(format!("{what} comes to what is another's: {other:?}")),
    }
}

struct Named {
    doc: (DocId, String, String),
    task: String,
    repository: String,
    dialog: DialogId,
}

fn names(of: &Project) -> Vec<Named> {
    let docs = of
        .docs
        .iter()
        .enumerate()
        .map(|(n, doc)| (DocId(doc.id), doc.name.clone(), format!("https://wiki.example/{n}")));
    let repositories = of.repositories.iter().cycle();
    docs.zip(&of.tasks)
        .zip(repositories)
        .zip(&of.dialogs)
        .map(|(((doc, task), repository), dialog)| Named {
            doc,
            task: task.name.clone(),
            repository: repository.name.clone(),
            dialog: DialogId(dialog.id),
        })
        .collect()
}

async fn counts(world: &World, ours: &Project) -> Result<(), Fault> {
    let (store, here) = (world.database.store(), ProjectId(ours.id));
    let held = projects::overview(store, here).await.map_err(|error| error.to_string())?;
    // The role sees private data, too.
    let private: usize = ours.privates.iter().map(|private| private.records.len()).sum();
    let seeded = [
        ours.records.len() + ours.proposals.len() + private,
        ours.docs.len(),
        ours.dialogs.len(),
        ours.tasks.len(),
        ours.files.len(),
        ours.passages.len() + ours.commit_passages.len() + private,
    ];
    let counted = [held.records, held.docs, held.dialogs, held.tasks, held.files, held.passages];
    if counted.map(|count| usize::try_from(count).unwrap_or(usize::MAX)) != seeded {
        return Err(format!("projects::overview counts {held:?}"));
    }
    let model = world.search.models.current().model;
    let waiting = vectors::queue_length(store, Some(here), &model, false);
    let waiting = waiting.await.map_err(|error| error.to_string())?;
    if usize::try_from(waiting) == Ok(2 + private) {
        Ok(())
    } else {
        Err(format!("vectors::queue_length counts {waiting}"))
    }
}

/// The search by marks and words of another tenant.
async fn searched(world: &World, ours: &Project, theirs: &Project) -> Result<(), Fault> {
    let look = Look { world, ours };
    let context = SearchContext { store: world.database.store().clone(), ..world.search.clone() };
    let filter = PassageFilter::project(ProjectId(ours.id));
    let model = context.models.current().model;
    for thing in theirs.passages.iter().take(8) {
        let query = Query::text(
            format!("Timer#{} delay of the gateway {}", thing.mark, thing.mark),
            filter.clone(),
        );
        let options = Options { limit: 100, ..Options::default() };
        look.at(
            "search",
            mc_search::search(&context, &query, &options).await.map(|found| found.hits),
        )?;
        let filter = PassageFilter { sources: SourceKind::ALL.to_vec(), ..filter.clone() };
        look.at(
            "vectors::nearest",
            vectors::nearest(&context.store, &model, &vector(&thing.mark), &filter, 50).await,
        )?;
    }
    Ok(())
}

/// Keyword search: private passages of others are excluded before the ranking.
async fn private_words(world: &World, ours: &Project) -> Result<(), Fault> {
    let reader = world.people.iter().find(|one| ours.private_of(one).is_some()).expect("a keeper");
    let store = world.database.store().for_project(UserId(reader.id), ProjectId(ours.id));
    let context = SearchContext { store, ..world.search.clone() };
    let mut found_own = false;
    for private in &ours.privates {
        let thing = &private.passages[0];
        let text = format!("Timer#{} gateway {}", thing.mark, thing.mark);
        let query = Query::text(text, PassageFilter::project(ProjectId(ours.id)));
        let options = Options { limit: 200, ..Options::default() };
        let found = mc_search::search(&context, &query, &options).await;
        let found = found.map_err(|error| format!("search failed: {error:?}"))?;
        let is_in = |thing: &Thing| {
            // By meaning it is found here, where the role sees all.
            found
                .hits
                .iter()
                .any(|hit| hit.passage.indexed.id.0 == thing.id && hit.keyword.is_some())
        };
        found_own |= private.owner == reader.id && is_in(thing);
        let others = ours.privates.iter().filter(|one| one.owner != reader.id);
        if others.flat_map(|one| &one.passages).any(is_in) {
            return Err("the words find what others keep to themselves".to_owned());
        }
    }
    if found_own { Ok(()) } else { Err("their own is not found: the probe is blind".to_owned()) }
}

/// Checks results for marks and ids of other projects.
struct Look<'a> {
    world: &'a World,
    ours: &'a Project,
}

impl Look<'_> {
    fn at<T: Debug, E: Debug>(&self, what: &str, found: Result<T, E>) -> Result<(), Fault> {
        let found = found.map_err(|error| format!("{what} failed: {error:?}"))?;
        let bytes = format!("{found:?}").into_bytes();
        // The role sees private data, too.
        let keepers = self.world.people.iter().filter(|one| self.ours.private_of(one).is_some());
        let keepers = Places::all(keepers.map(Person::place));
        let own = Places::one(self.ours.place) | self.ours.private_places() | keepers;
        let mark = marks_in(&bytes, b"").into_iter().find(|(place, _)| !own.holds(*place));
        let ids = ids_in(&bytes, b"").into_iter();
        let id = ids
            .filter_map(|id| Some((id, self.world.owner(id)?)))
            .find(|(_, place)| !own.holds(*place));
        match (mark, id) {
            (None, None) => Ok(()),
            (Some((place, mark)), _) => {
                Err(format!("{what} answers {mark} of {}", self.world.describe(place)))
            }
            (_, Some((id, place))) => {
                Err(format!("{what} answers {id} of {}", self.world.describe(place)))
            }
        }
    }
}
