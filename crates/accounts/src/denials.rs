//! Counts of denied requests, for the audit.
//!
//! Denials are written in batches: an event for each would let a caller without access fill the
//! audit.

use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mc_domain::{AuditAction, Permission, ProjectId, UserId};
use mc_store::Store;
use mc_store::audit::{self, Chain, NewEvent};
use serde_json::json;

use crate::Error;

/// Counter of the denials since they were last written.
#[derive(Debug, Default)]
pub struct DenialCounter(Mutex<DenialCounts>);

/// Counts of denials. Each event has a chain, an actor and a target. The counts of an event are by
/// operation (`GET /records/{id} 404`), by permission, or one under an empty name.
#[derive(Debug, Default)]
struct DenialCounts(HashMap<(Chain, Option<UserId>, &'static str), BTreeMap<String, u64>>);

impl DenialCounter {
    /// Counts an invalid token.
    pub fn token(&self) {
        *self.lock().count(Chain::Service, None, "token", String::new()) += 1;
    }

    /// Counts a webhook delivery without a valid signature; `None` if the webhook is unknown.
    pub fn delivery(&self, project: Option<ProjectId>) {
        let chain = project.map_or(Chain::Service, Chain::Project);
        *self.lock().count(chain, None, "delivery", String::new()) += 1;
    }

    /// Counts a denied operation of a user. The name of the operation has no parameters.
    pub fn operation(&self, user: UserId, operation: String) {
        *self.lock().count(Chain::Service, Some(user), "requests", operation) += 1;
    }

    /// Counts a permission that a user's role in a project does not have.
    pub fn insufficient_role(&self, project: ProjectId, user: UserId, permission: Permission) {
        let name = permission.as_str().to_owned();
        *self.lock().count(Chain::Project(project), Some(user), "role", name) += 1;
    }

    /// Writes the counts to the audit. If that fails, they are kept for the next call.
    pub async fn flush(&self, background: &Store) -> Result<(), Error> {
        let counts = mem::take(&mut *self.lock());
        let written = write(background, counts.events()).await;
        if written.is_err() {
            self.restore(counts);
        }
        Ok(written?)
    }

    fn restore(&self, taken: DenialCounts) {
        let mut counts = self.lock();
        for ((chain, actor, target), taken) in taken.0 {
            for (name, count) in taken {
                *counts.count(chain, actor, target, name) += count;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, DenialCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DenialCounts {
    fn count(
        &mut self,
        chain: Chain,
        actor: Option<UserId>,
        target: &'static str,
        name: String,
    ) -> &mut u64 {
        self.0.entry((chain, actor, target)).or_default().entry(name).or_default()
    }

    /// Returns the events of the counts, each with its chain and its actor.
    fn events(&self) -> Vec<(Chain, Option<UserId>, NewEvent)> {
        let event = |(&(chain, actor, target), counts): (&_, &BTreeMap<String, u64>)| {
            let details = match target {
                "requests" => json!({ "operations": counts }),
                "role" => json!({ "reason": "role", "actions": counts }),
                _ => json!({ "count": counts.values().sum::<u64>() }),
            };
            (chain, actor, NewEvent::new(AuditAction::AccessDenied, target).with(details))
        };
        let mut events: Vec<_> = self.0.iter().map(event).collect();
        // Chains are locked in one order everywhere.
        events.sort_by_key(|(chain, actor, _)| (chain.id(), *actor));
        events
    }
}

/// Writes all events, or none.
async fn write(
    store: &Store,
    events: Vec<(Chain, Option<UserId>, NewEvent)>,
) -> Result<(), mc_store::Error> {
    if events.is_empty() {
        return Ok(());
    }
    let mut tx = store.begin().await?;
    for (chain, actor, event) in events {
        audit::add(&mut tx, chain, actor, &[event]);
    }
    tx.commit().await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(denials: &DenialCounter) -> DenialCounts {
        mem::take(&mut *denials.lock())
    }

    #[test]
    fn denials_are_one_event_per_user_and_survive_a_failed_write() {
        let denials = DenialCounter::default();
        let ann = UserId::generate();
        let events = |counts: &DenialCounts| {
            let events = counts.events().into_iter();
            events.map(|(_, user, event)| (user, event.target, event.details)).collect::<Vec<_>>()
        };
        let not_found = || denials.operation(ann, "GET /records/{id} 404".to_owned());
        not_found();
        not_found();
        denials.operation(ann, "POST /save 403".to_owned());
        denials.token();
        let taken = take(&denials);
        assert!(events(&take(&denials)).is_empty());

        not_found();
        denials.restore(taken);
        let operations = json!({ "GET /records/{id} 404": 3, "POST /save 403": 1 });
        let expected = [
            (None, "token".to_owned(), json!({ "count": 1 })),
            (Some(ann), "requests".to_owned(), json!({ "operations": operations })),
        ];
        assert_eq!(events(&take(&denials)), expected);
    }

    #[test]
    fn an_insufficient_role_is_an_event_of_the_project() {
        let denials = DenialCounter::default();
        let (project, ann) = (ProjectId::generate(), UserId::generate());
        denials.insufficient_role(project, ann, Permission::Curate);
        denials.insufficient_role(project, ann, Permission::Curate);
        let events = take(&denials).events();
        let [(Chain::Project(chain), Some(user), event)] = &events[..] else {
            panic!("{events:?}")
        };
        assert_eq!((*chain, *user), (project, ann));
        assert_eq!(event.details, json!({ "reason": "role", "actions": { "curate": 2 } }));
    }
}
