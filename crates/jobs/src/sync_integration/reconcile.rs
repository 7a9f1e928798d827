//! Reconciliation: finds tasks and documents that the provider has deleted.
//!
//! The provider's full list is read page by page. Ids that are stored here and not yet on the list
//! are deletion candidates (`mc_store::deletion_candidates`); the position in the list is part of
//! the sync's state, so a later job resumes a long list. Candidates are deleted only after two
//! complete passes: an item that moves between pages during a pass may be missing from it once.

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::BoxFuture;
use mc_connectors::client;
use mc_connectors::traits::{Cursor, Page, Tracker, Wiki};
use mc_domain::{AuditAction, Capability};
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::{Tx, deletion_candidates, integrations, tasks};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Ended, Place, SyncError, SyncSession, SyncState, to_json};

/// More ids than this are not compared.
const IDS: usize = 500_000;
/// A list that was begun longer ago tells of a time that is over.
const OLDEST: TimeDelta = TimeDelta::days(2);
/// So many are forgotten in one transaction.
const BATCH_SIZE: i64 = 500;

/// How far the comparison of what is known with all that there is has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Reconciliation {
    /// Where the next page of the list begins.
    next: Cursor,
    /// How many were on the pages before it.
    listed: usize,
    /// When the first page was asked for. What was heard of since is not gone.
    started_at: DateTime<Utc>,
    stage: ReconcilePhase,
}

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReconcilePhase {
    /// The list is read.
    First,
    /// It is read once more.
    Again,
    /// What is on it neither time is forgotten.
    Forgetting,
}

/// A part of the list of all that there is.
pub(super) type Listing<'a> = BoxFuture<'a, Result<Page<String>, client::Error>>;

/// What lists all that it has.
pub(super) trait ListIds: Send + Sync {
    fn list<'a>(&'a self, from: &'a Cursor) -> Listing<'a>;
}

impl ListIds for dyn Tracker {
    fn list<'a>(&'a self, from: &'a Cursor) -> Listing<'a> {
        self.list_ids(from)
    }
}

impl ListIds for dyn Wiki {
    fn list<'a>(&'a self, from: &'a Cursor) -> Listing<'a> {
        self.list_ids(from)
    }
}

impl Reconciliation {
    fn from_the_beginning() -> Self {
        let next = Cursor::default();
        Self { next, listed: 0, started_at: Utc::now(), stage: ReconcilePhase::First }
    }

    /// Whether it was begun too long ago to be gone on with: after a pause, say, or weeks of
    /// failures.
    fn is_old(&self) -> bool {
        Utc::now() - self.started_at > OLDEST
    }

    /// Behind a page; behind the last one the next stage begins.
    fn behind(self, page: &Page<String>) -> Self {
        if !page.is_last {
            let listed = self.listed + page.items.len();
            return Self { next: page.next.clone(), listed, ..self };
        }
        let stage = if self.stage == ReconcilePhase::First {
            ReconcilePhase::Again
        } else {
            ReconcilePhase::Forgetting
        };
        Self { next: Cursor::default(), listed: 0, stage, ..self }
    }

    /// Whether the page can be believed. A system that lists nothing at all hides rather than has
    /// nothing.
    fn check(&self, page: &Page<String>) -> Result<(), SyncError> {
        let listed = self.listed + page.items.len();
        if !page.is_last && page.next == self.next {
            return Err(super::no_progress());
        }
        if listed > IDS {
            let reason = format!(
                "it lists more than {IDS} items; add an integration for each smaller part of it"
            );
            return Err(SyncError::Because(reason));
        }
        if page.is_last && listed == 0 {
            return Err(SyncError::Because(
                "the provider lists nothing, but the project has items of it. Check that the \
                 credential can still read them. If they were deleted at the provider, delete the \
                 integration (memory-copilot integrations delete --purge)"
                    .to_owned(),
            ));
        }
        Ok(())
    }
}

impl SyncSession<'_> {
    /// Goes on comparing what is known with all that the system lists, and forgets what is gone;
    /// begins where it is time to. What is not done when the sync's turn is over is for the next.
    pub(super) async fn reconcile(
        &self,
        mut place: Place,
        mut at: SyncState,
        system: &(impl ListIds + ?Sized),
    ) -> Result<Ended, SyncError> {
        let is_due = at.sweep.as_ref().map_or(self.asking.is_compared, Reconciliation::is_old);
        if is_due && !self.begin_sweep(&mut place, &mut at).await? {
            return Ok(Ended::Overtaken);
        }
        while let Some(sweep) = at.sweep.clone() {
            let is_ours = match sweep.stage {
                ReconcilePhase::First | ReconcilePhase::Again => {
                    self.read_page(&mut place, &mut at, sweep, system).await?
                }
                ReconcilePhase::Forgetting => self.delete_batch(&mut place, &mut at, sweep).await?,
            };
            if !is_ours {
                return Ok(Ended::Overtaken);
            }
            if at.sweep.is_some() && self.is_over() {
                return Ok(Ended::More);
            }
        }
        Ok(Ended::Done)
    }

    /// Notes what is known, to be looked for on the list; `false` where somebody else has gone on,
    /// as all of these.
    async fn begin_sweep(&self, place: &mut Place, at: &mut SyncState) -> Result<bool, SyncError> {
        let (mut tx, sweep) = (self.store.begin().await?, Reconciliation::from_the_beginning());
        if !self.sweep_on(&mut tx, place, at, Some(sweep.clone())).await? {
            return Ok(false);
        }
        let known = match self.asking.capability {
            Capability::Issues => deletion_candidates::seed_tasks(&mut tx, self.asking.id).await?,
            Capability::Pages | Capability::Refs => {
                deletion_candidates::seed_docs(&mut tx, self.asking.id).await?
            }
        };
        if known == 0 {
            let nothing = Reconciliation { stage: ReconcilePhase::Forgetting, ..sweep };
            self.sweep_on(&mut tx, place, at, Some(nothing)).await?;
        }
        tx.commit().await?;
        Ok(true)
    }

    /// Asks for a page of the list, and notes what is on it with where the next one begins.
    async fn read_page(
        &self,
        place: &mut Place,
        at: &mut SyncState,
        sweep: Reconciliation,
        system: &(impl ListIds + ?Sized),
    ) -> Result<bool, SyncError> {
        let page = system.list(&sweep.next).await?;
        if let Err(stopped) = sweep.check(&page) {
            self.abort_pass(place, at).await?;
            return Err(stopped);
        }
        let next = sweep.behind(&page);
        let mut tx = self.store.begin().await?;
        if !self.sweep_on(&mut tx, place, at, Some(next.clone())).await? {
            return Ok(false);
        }
        deletion_candidates::mark_seen(&mut tx, self.asking.id, &page.items).await?;
        self.count_items(&mut tx, 0).await?;
        if page.is_last && !deletion_candidates::has_any(&mut tx, self.asking.id).await? {
            let nothing = Reconciliation { stage: ReconcilePhase::Forgetting, ..next };
            self.sweep_on(&mut tx, place, at, Some(nothing)).await?;
        }
        tx.commit().await?;
        Ok(true)
    }

    /// Leaves a list that can't be believed, so that the next sync begins another.
    async fn abort_pass(&self, place: &mut Place, at: &mut SyncState) -> Result<(), SyncError> {
        let mut tx = self.store.begin().await?;
        self.sweep_on(&mut tx, place, at, None).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Forgets some of what is gone; where nothing is left, the comparison is over.
    async fn delete_batch(
        &self,
        place: &mut Place,
        at: &mut SyncState,
        sweep: Reconciliation,
    ) -> Result<bool, SyncError> {
        let (mut tx, requested_at) = (self.store.begin().await?, sweep.started_at);
        if !self.sweep_on(&mut tx, place, at, Some(sweep)).await? {
            return Ok(false);
        }
        let gone = deletion_candidates::take(&mut tx, self.asking.id, BATCH_SIZE).await?;
        if gone.is_empty() {
            self.sweep_on(&mut tx, place, at, None).await?;
            integrations::mark_reconciled(&mut tx, self.asking.id).await?;
        } else {
            self.forget(&mut tx, gone, requested_at).await?;
        }
        tx.commit().await?;
        Ok(true)
    }

    /// Says in the transaction how far the comparison is; `false` where somebody else has gone on.
    async fn sweep_on(
        &self,
        tx: &mut Tx,
        place: &mut Place,
        at: &mut SyncState,
        sweep: Option<Reconciliation>,
    ) -> Result<bool, SyncError> {
        let next = SyncState { sweep, ..at.clone() };
        if !self.advance(tx, place, to_json(&next)?).await? {
            return Ok(false);
        }
        *at = next;
        Ok(true)
    }

    /// Forgets documents that are gone, or what was told of tasks that were not heard of since
    /// `requested_at`.
    async fn forget(
        &self,
        tx: &mut Tx,
        mut gone: Vec<String>,
        requested_at: DateTime<Utc>,
    ) -> Result<(), SyncError> {
        let (project, connection) = (self.asking.project, self.asking.id);
        let mut events = Vec::new();
        if self.asking.capability == Capability::Issues {
            gone = self.withdrawn(tx, gone, requested_at).await?;
            if !gone.is_empty() {
                let detail = json!({ "withdrawn": gone.len() });
                events.push(NewEvent::new(AuditAction::TasksSynced, connection).with(detail));
            }
        }
        let removed = integrations::delete_missing_docs(tx, project, connection, &gone).await?;
        if removed > 0 {
            let detail = json!({ "removed": removed });
            events.push(NewEvent::new(AuditAction::DocumentsIngested, connection).with(detail));
        }
        if !events.is_empty() {
            audit::add(tx, Chain::Project(project), None, &events);
        }
        Ok(())
    }

    /// Those of the tasks that are withdrawn now.
    async fn withdrawn(
        &self,
        tx: &mut Tx,
        candidates: Vec<String>,
        requested_at: DateTime<Utc>,
    ) -> Result<Vec<String>, SyncError> {
        let (project, connection) = (self.asking.project, self.asking.id);
        let mut withdrawn = Vec::new();
        for id in candidates {
            if tasks::mark_missing_deleted(tx, project, connection, &id, requested_at).await? {
                withdrawn.push(id);
            }
        }
        Ok(withdrawn)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Instant;

    use mc_crypto::{EncryptionKey, Encryptor};
    use mc_domain::IntegrationId;
    use mc_store::Store;
    use mc_store::integrations::NewIntegration;
    use mc_store::testing::{execute, text};
    use mc_testkit::TestDatabase;

    use super::*;

    fn page(items: &[&str], next: u32, is_last: bool) -> Page<String> {
        let items = items.iter().map(|&id| id.to_owned()).collect();
        Page { items, next: Cursor(json!(next)), is_last }
    }

    /// Lists as it is told, and knows what it was asked for; nothing where it is told nothing.
    struct Fake<F> {
        answer: F,
        asked: Mutex<Vec<serde_json::Value>>,
    }

    impl<F: Fn(&Cursor, usize) -> Option<Page<String>> + Send + Sync> Fake<F> {
        fn new(answer: F) -> Self {
            Self { answer, asked: Mutex::default() }
        }

        fn asked(&self) -> Vec<serde_json::Value> {
            self.asked.lock().expect("nobody panics").clone()
        }
    }

    impl<F: Fn(&Cursor, usize) -> Option<Page<String>> + Send + Sync> ListIds for Fake<F> {
        fn list<'a>(&'a self, from: &'a Cursor) -> Listing<'a> {
            let mut asked = self.asked.lock().expect("nobody panics");
            let answer = (self.answer)(from, asked.len());
            asked.push(from.0.clone());
            let away = || client::Error::Unavailable {
                connector: "ours".to_owned(),
                reason: "it stopped".to_owned(),
            };
            Box::pin(std::future::ready(answer.ok_or_else(away)))
        }
    }

    /// A project with tasks that came by a connection, which are to be compared.
    struct World {
        db: TestDatabase,
        id: IntegrationId,
    }

    impl World {
        async fn with(known: &[&str]) -> Self {
            let db = TestDatabase::create().await;
            let project = db.project("shop").await.id;
            let id = IntegrationId::generate();
            let new = NewIntegration {
                id,
                connector: "ours".to_owned(),
                resource: "CS".to_owned(),
                capability: Capability::Issues,
                interval_minutes: 15,
                include_comments: false,
            };
            let mut tx = db.store().begin().await.expect("begun");
            integrations::create(&mut tx, project, &new).await.expect("made");
            tx.commit().await.expect("kept");
            for name in known {
                let sql = format!(
                    "insert into tasks (id, project_id, external_id, title, status, \
                     integration_id, source_updated_at)
                     values (gen_random_uuid(), '{project}', '{name}', 'T', 'open', '{id}', \
                     '2026-11-01')"
                );
                execute(db.url(), &sql).await.expect("a task");
            }
            let a_day_passes =
                "update integrations set reconciled_at = now() - interval '25 hours'";
            execute(db.url(), a_day_passes).await.expect("a day");
            Self { db, id }
        }

        fn store(&self) -> &Store {
            self.db.store()
        }

        /// What the next job makes of it.
        async fn compared(&self, system: &impl ListIds) -> Result<Ended, SyncError> {
            let asking = integrations::start_sync(self.store(), self.id).await;
            let asking = asking.expect("asked").expect("it is there");
            let sealer = Encryptor::new(EncryptionKey::generate(), Vec::new());
            let (store, begun) = (self.store(), Instant::now());
            let syncing = SyncSession { store, sealer: &sealer, asking: &asking, begun };
            let place = Place::of(&asking);
            let at = place.read();
            syncing.reconcile(place, at, system).await
        }

        /// The tasks that are gone, and whether all were compared.
        async fn gone(&self) -> (String, bool) {
            let gone = "select coalesce(string_agg(external_id, ' ' order by external_id), '')
                        from tasks where status = 'deleted'";
            let done = "select (reconciled_at > now() - interval '1 hour')::text from integrations";
            let done = text(self.store(), done).await.expect("a time");
            (text(self.store(), gone).await.expect("tasks"), done == "true")
        }
    }

    fn is_done(ended: &Result<Ended, SyncError>) -> bool {
        matches!(ended, Ok(Ended::Done))
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_is_on_no_page_is_gone() {
        let world = World::with(&["a", "b", "c"]).await;
        let list = Fake::new(|from: &Cursor, _| {
            let is_second = from.0 == json!(1);
            Some(if is_second { page(&["c"], 2, true) } else { page(&["a"], 1, false) })
        });
        assert!(is_done(&world.compared(&list).await));
        assert_eq!(world.gone().await, ("b".to_owned(), true));
        assert_eq!(list.asked().len(), 4, "what is missing is looked for twice");
        let events = "select string_agg(action || details, ' ') from audit_events
                      where target = (select id::text from integrations)";
        let events = text(world.store(), events).await.expect("events");
        assert!(events.contains(r#"tasks.synced{"withdrawn":1}"#), "{events}");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_was_missing_once_is_there() {
        let world = World::with(&["a", "b"]).await;
        let list = Fake::new(|_: &Cursor, times| {
            Some(if times == 0 { page(&["a"], 1, true) } else { page(&["a", "b"], 1, true) })
        });
        assert!(is_done(&world.compared(&list).await));
        assert_eq!(world.gone().await, (String::new(), true));
        assert_eq!(list.asked().len(), 2);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_interrupted_list_continues_and_deletes_nothing_before_its_end() {
        let world = World::with(&["a", "b", "c", "d"]).await;
        // Of three pages the third is not answered the first time.
        let list = Fake::new(|from: &Cursor, times| match from.0.as_u64() {
            None => Some(page(&["a"], 1, false)),
            Some(1) => Some(page(&["b"], 2, false)),
            Some(_) => (times > 2).then(|| page(&["c"], 3, true)),
        });
        assert!(world.compared(&list).await.is_err());
        assert_eq!(world.gone().await, (String::new(), false));
        let left =
            "select string_agg(external_id, ' ' order by external_id) from deletion_candidates";
        assert_eq!(text(world.store(), left).await.expect("left"), "c d");

        // Heard of meanwhile, it is not gone, whatever the list says.
        let heard = "update tasks set source_updated_at = now() + interval '1 minute' where \
                     external_id = 'd'";
        execute(world.db.url(), heard).await.expect("heard");
        assert!(is_done(&world.compared(&list).await));
        let null = json!(null);
        let broken_off = [null.clone(), json!(1), json!(2)];
        let read_on = [json!(2), null, json!(1), json!(2)];
        assert_eq!(list.asked(), [&broken_off[..], &read_on[..]].concat());
        assert_eq!(world.gone().await, (String::new(), true));
        assert!(is_done(&world.compared(&list).await));
        assert_eq!(list.asked().len(), 7, "that is done again a day later");
    }

    /// A list of two pages, the second of which is not answered the first time.
    fn broken_off(from: &Cursor, times: usize) -> Option<Page<String>> {
        match from.0.as_u64() {
            None => Some(page(&["a"], 1, false)),
            Some(_) => (times > 1).then(|| page(&["b"], 2, true)),
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_list_that_was_begun_long_ago_is_begun_anew() {
        let world = World::with(&["a", "b"]).await;
        let list = Fake::new(broken_off);
        assert!(world.compared(&list).await.is_err());
        let days_pass = "update integrations set sync_state =
            jsonb_set(sync_state, '{sweep,started_at}', to_jsonb(now() - interval '3 days'))";
        execute(world.db.url(), days_pass).await.expect("days");
        assert!(is_done(&world.compared(&list).await));
        let null = json!(null);
        assert_eq!(list.asked(), [null.clone(), json!(1), null, json!(1)]);
        assert_eq!(world.gone().await, (String::new(), true));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_list_that_is_too_long_is_begun_anew() {
        let world = World::with(&["a", "b"]).await;
        let list = Fake::new(broken_off);
        assert!(world.compared(&list).await.is_err());
        let many = "update integrations set sync_state = jsonb_set(sync_state, '{sweep,listed}', \
                    '500000')";
        execute(world.db.url(), many).await.expect("many");
        let said = world.compared(&list).await.expect_err("too many").to_string();
        assert!(said.contains("more than 500000"), "{said}");
        assert!(is_done(&world.compared(&list).await), "it may be shorter by now");
        let null = json!(null);
        assert_eq!(list.asked(), [null.clone(), json!(1), json!(1), null, json!(1)]);
        assert_eq!(world.gone().await, (String::new(), true));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_turn_that_is_over_leaves_the_rest_to_the_next() {
        let world = World::with(&["a", "b"]).await;
        let list = Fake::new(|from: &Cursor, _| {
            let is_second = from.0 == json!(1);
            Some(if is_second { page(&["b"], 2, true) } else { page(&["a"], 1, false) })
        });
        let asking = integrations::start_sync(world.store(), world.id).await;
        let asking = asking.expect("asked").expect("it is there");
        let sealer = Encryptor::new(EncryptionKey::generate(), Vec::new());
        let long_ago = Instant::now().checked_sub(super::super::TURN).expect("a time");
        let store = world.store();
        let syncing = SyncSession { store, sealer: &sealer, asking: &asking, begun: long_ago };
        let ended = syncing.reconcile(Place::of(&asking), SyncState::default(), &list).await;
        assert!(matches!(ended, Ok(Ended::More)));
        assert_eq!(list.asked(), [json!(null)]);
        assert!(is_done(&world.compared(&list).await));
        assert_eq!(list.asked(), [json!(null), json!(1)]);
        assert_eq!(world.gone().await, (String::new(), true));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_system_that_lists_nothing_or_stands_still_takes_nothing_away() {
        let world = World::with(&["a", "b"]).await;
        let nothing = Fake::new(|_: &Cursor, _| Some(page(&[], 1, true)));
        let said = world.compared(&nothing).await.expect_err("nothing").to_string();
        assert!(said.contains("lists nothing"), "{said}");
        let still = Fake::new(|_: &Cursor, _| Some(page(&["a"], 1, false)));
        let said = world.compared(&still).await.expect_err("the same").to_string();
        assert!(said.contains("same page"), "{said}");
        assert_eq!(world.gone().await, (String::new(), false));
    }
}
