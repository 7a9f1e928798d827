//! What is known here and not there any more.

use std::collections::HashSet;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use mc_connectors::client;
use mc_connectors::system::{Cursor, Page, Tracker, Wiki};
use mc_domain::Act;
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::{connections, tasks};
use serde_json::json;
use tokio::time::timeout;

use super::{Ended, Place, Stopped, Syncing};

/// More ids than this are not compared.
const IDS: usize = 500_000;
/// After so much of its time a sync is done with listing; the rest is for what is gone.
const LISTED_WITHIN: Duration = connections::SYNC_TIME.saturating_sub(Duration::from_mins(2));
/// So many are forgotten in one transaction.
const TOGETHER: usize = 500;

/// A part of the list of all that there is.
pub(super) type Listing<'a> = BoxFuture<'a, Result<Page<String>, client::Error>>;

/// What lists all that it has.
pub(super) trait Lists: Send + Sync {
    fn list<'a>(&'a self, from: &'a Cursor) -> Listing<'a>;
}

impl Lists for dyn Tracker {
    fn list<'a>(&'a self, from: &'a Cursor) -> Listing<'a> {
        self.ids(from)
    }
}

impl Lists for dyn Wiki {
    fn list<'a>(&'a self, from: &'a Cursor) -> Listing<'a> {
        self.ids(from)
    }
}

/// Those of `known` that the system does not list, as far as that can be told in the time of the sync. Where it can't,
/// it could not the next minute: it is tried again a day later, and the connection says so until it is asked next.
pub(super) async fn find(
    syncing: &Syncing<'_>,
    known: Vec<String>,
    system: &(impl Lists + ?Sized),
) -> Result<Vec<String>, Stopped> {
    find_within(LISTED_WITHIN.saturating_sub(syncing.begun.elapsed()), syncing, known, system).await
}

async fn find_within(
    time: Duration,
    syncing: &Syncing<'_>,
    known: Vec<String>,
    system: &(impl Lists + ?Sized),
) -> Result<Vec<String>, Stopped> {
    if let Ok(found) = timeout(time, missing(known, system)).await {
        return found;
    }
    connections::compared(syncing.store, syncing.asking.id).await?;
    Err(Stopped::Because(
        "it lists what it has too slowly to find what is gone; connect to smaller parts of it"
            .to_owned(),
    ))
}

/// Those of `known` that the system does not list. What is missing is looked for twice: what moves from one page of
/// a list to another while that is read may be missing from it once. A system that lists nothing at all hides
/// rather than has nothing, so that is a failure.
async fn missing(
    known: Vec<String>,
    system: &(impl Lists + ?Sized),
) -> Result<Vec<String>, Stopped> {
    let mut missing = known;
    for _ in 0..2 {
        if missing.is_empty() {
            break;
        }
        let listed = all(system).await?;
        if listed.is_empty() {
            return Err(Stopped::Because(format!(
                "it lists nothing at all, where {} are known: see that the credential may still see them; if \
                 they are gone indeed, remove the connection with what came by it",
                missing.len()
            )));
        }
        missing.retain(|id| !listed.contains(id));
    }
    Ok(missing)
}

async fn all(system: &(impl Lists + ?Sized)) -> Result<HashSet<String>, Stopped> {
    let (mut listed, mut at) = (HashSet::new(), Cursor::default());
    loop {
        let page = system.list(&at).await?;
        listed.extend(page.items);
        if page.is_last {
            return Ok(listed);
        }
        if page.next == at {
            return Err(super::stands_still());
        }
        if listed.len() > IDS {
            return Err(Stopped::Because(format!(
                "it lists more than {IDS}; connect to smaller parts of it"
            )));
        }
        at = page.next;
    }
}

impl Syncing<'_> {
    /// Forgets what is gone: documents, and with `asked_at`, when the system was asked, what was told of tasks.
    pub(super) async fn withdraw(
        &self,
        mut place: Place,
        gone: &[String],
        asked_at: Option<DateTime<Utc>>,
    ) -> Result<Ended, Stopped> {
        for some in gone.chunks(TOGETHER) {
            if !self.withdraw_some(&mut place, some, asked_at).await? {
                return Ok(Ended::Overtaken);
            }
        }
        connections::compared(self.store, self.asking.id).await?;
        Ok(Ended::Done)
    }

    async fn withdraw_some(
        &self,
        place: &mut Place,
        gone: &[String],
        asked_at: Option<DateTime<Utc>>,
    ) -> Result<bool, Stopped> {
        let (project, connection) = (self.asking.project, self.asking.id);
        let mut tx = self.store.begin().await?;
        let stays = place.0.clone().unwrap_or_default();
        if !self.advance(&mut tx, place, stays).await? {
            return Ok(false);
        }
        let (mut withdrawn, mut events) = (0_u32, Vec::new());
        for id in gone.iter().filter(|_| asked_at.is_some()) {
            let asked_at = asked_at.unwrap_or_default();
            withdrawn += u32::from(tasks::withdraw_unlisted(&mut tx, project, id, asked_at).await?);
        }
        if withdrawn > 0 {
            let detail = json!({ "withdrawn": withdrawn });
            events.push(NewEvent::new(Act::TasksSynced, connection).with(detail));
        }
        let removed = connections::forget_gone(&mut tx, project, connection, gone).await?;
        if removed > 0 {
            let detail = json!({ "removed": removed });
            events.push(NewEvent::new(Act::DocumentsIngested, connection).with(detail));
        }
        if !events.is_empty() {
            audit::add(&mut tx, Chain::Project(project), None, &events).await?;
        }
        tx.commit().await?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Instant;

    use mc_domain::{Ability, ConnectionId};
    use mc_seal::{Sealer, SealingKey};
    use mc_store::connections::NewConnection;
    use mc_store::testing::execute;
    use mc_testkit::TestDatabase;
    use serde_json::json;

    use super::*;

    fn page(items: &[&str], next: u32, is_last: bool) -> Page<String> {
        let items = items.iter().map(|&id| id.to_owned()).collect();
        Page { items, next: Cursor(json!(next)), is_last }
    }

    struct Fake<F>(F);

    impl<F: Fn(&Cursor) -> Page<String> + Send + Sync> Lists for Fake<F> {
        fn list<'a>(&'a self, from: &'a Cursor) -> Listing<'a> {
            Box::pin(std::future::ready(Ok((self.0)(from))))
        }
    }

    fn known(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|&id| id.to_owned()).collect()
    }

    #[tokio::test]
    async fn what_is_on_no_page_is_gone() {
        let list = Fake(|from: &Cursor| {
            let is_second = from.0 == json!(1);
            if is_second { page(&["c"], 2, true) } else { page(&["a"], 1, false) }
        });
        assert_eq!(missing(known(&["a", "b", "c"]), &list).await.expect("listed"), ["b"]);
    }

    #[tokio::test]
    async fn what_was_missing_once_is_there() {
        let asked = AtomicUsize::new(0);
        let list = Fake(|_: &Cursor| {
            let times = asked.fetch_add(1, Ordering::SeqCst);
            if times == 0 { page(&["a"], 1, true) } else { page(&["a", "b"], 1, true) }
        });
        assert!(missing(known(&["a", "b"]), &list).await.expect("listed").is_empty());
        assert_eq!(asked.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn a_system_that_lists_nothing_or_stands_still_takes_nothing_away() {
        let nothing = Fake(|_: &Cursor| page(&[], 1, true));
        let said = missing(known(&["a"]), &nothing).await.expect_err("nothing").to_string();
        assert!(said.contains("lists nothing at all"), "{said}");
        let still = Fake(|_: &Cursor| page(&["a"], 1, false));
        let said = missing(known(&["b"]), &still).await.expect_err("the same").to_string();
        assert!(said.contains("same page"), "{said}");
    }

    struct Endless;

    impl Lists for Endless {
        fn list<'a>(&'a self, _: &'a Cursor) -> Listing<'a> {
            Box::pin(std::future::pending())
        }
    }

    #[tokio::test]
    async fn a_list_that_does_not_end_in_time_is_read_again_the_next_day() {
        let db = TestDatabase::create().await;
        let (store, project) = (db.store(), db.project("shop").await.id);
        let new = NewConnection {
            id: ConnectionId::generate(),
            system: "ours".to_owned(),
            what: "CS".to_owned(),
            ability: Ability::Issues,
            every_minutes: 15,
            with_comments: false,
        };
        let mut tx = store.begin().await.expect("begun");
        connections::create(&mut tx, project, &new).await.expect("made");
        tx.commit().await.expect("kept");
        let a_day_passes = "update connections set compared_at = now() - interval '25 hours'";
        execute(db.url(), a_day_passes).await.expect("a day");
        let ask = async || {
            connections::begin_asking(store, new.id).await.expect("asked").expect("it is there")
        };
        let asking = ask().await;
        assert!(asking.is_compared);
        let sealer = Sealer::new(SealingKey::generate(), Vec::new());
        let syncing = Syncing { store, sealer: &sealer, asking: &asking, begun: Instant::now() };
        let said = find_within(Duration::ZERO, &syncing, known(&["a"]), &Endless).await;
        let said = said.expect_err("it does not end").to_string();
        assert!(said.contains("connect to smaller parts"), "{said}");
        assert!(!ask().await.is_compared);
    }
}
