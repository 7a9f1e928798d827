//! What callers were refused, gathered until it is noted: each by itself, it would let whoever knocks at
//! every door fill the audit.

use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::sync::{Mutex, PoisonError};

use http::{Method, StatusCode};
use mc_domain::{AuditAction, Permission, ProjectId, UserId};
use mc_store::audit::{Chain, NewEvent};
use serde_json::json;

/// What was refused since it was last taken.
#[derive(Debug, Default)]
pub struct DenialCounter(Mutex<DenialCounts>);

/// How often what was refused.
#[derive(Debug, Default)]
pub struct DenialCounts {
    /// Tokens that let nobody in.
    tokens: u64,
    /// Deliveries whose signature was wrong or missing, by project; under none where the hook was.
    deliveries: HashMap<Option<ProjectId>, u64>,
    /// What callers were told no to, by chain: in the service's by operation and status
    /// (`GET /records/{id} 404`), in a project's by the action that takes a higher role.
    callers: HashMap<(Chain, UserId), BTreeMap<String, u64>>,
}

impl DenialCounter {
    /// Counts a token that lets nobody in.
    pub fn token(&self) {
        self.tally().tokens += 1;
    }

    /// Counts what a webhook delivered that was not signed as it should be.
    pub fn delivery(&self, project: Option<ProjectId>) {
        *self.tally().deliveries.entry(project).or_default() += 1;
    }

    /// Counts what a caller was answered, if it was a refusal: 403, or 404, which is also the answer for
    /// what is there and not theirs. `route` is the pattern, never the path.
    pub fn answered(&self, caller: UserId, method: &Method, route: &str, status: StatusCode) {
        if matches!(status, StatusCode::FORBIDDEN | StatusCode::NOT_FOUND) {
            self.count(Chain::Service, caller, format!("{method} {route} {}", status.as_u16()));
        }
    }

    /// Counts what a caller's role in a project is too low for.
    pub fn role_too_low(&self, project: ProjectId, caller: UserId, action: Permission) {
        self.count(Chain::Project(project), caller, format!("{action:?}").to_lowercase());
    }

    /// What was counted; from then on the count begins anew.
    pub fn take(&self) -> DenialCounts {
        mem::take(&mut *self.tally())
    }

    /// Counts what was taken and could not be noted once more.
    pub fn restore_counts(&self, taken: DenialCounts) {
        self.tally().tokens += taken.tokens;
        for (project, count) in taken.deliveries {
            *self.tally().deliveries.entry(project).or_default() += count;
        }
        for ((chain, caller), refused) in taken.callers {
            for (what, count) in refused {
                *self.tally().of(chain, caller, what) += count;
            }
        }
    }

    fn count(&self, chain: Chain, caller: UserId, what: String) {
        *self.tally().of(chain, caller, what) += 1;
    }

    fn tally(&self) -> std::sync::MutexGuard<'_, DenialCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DenialCounts {
    /// What is to be noted, where, and who did it.
    pub fn events(&self) -> Vec<(Chain, Option<UserId>, NewEvent)> {
        let refused = |what: &str| NewEvent::new(AuditAction::AccessDenied, what);
        let tokens = refused("token").with(json!({ "count": self.tokens }));
        let strangers = (self.tokens > 0).then_some((Chain::Service, None, tokens));
        let callers = self.callers.iter().map(|((chain, caller), counts)| {
            let event = match chain {
                Chain::Service => refused("requests").with(json!({ "operations": counts })),
                Chain::Project(_) => {
                    refused("role").with(json!({ "why": "role", "actions": counts }))
                }
            };
            (*chain, Some(*caller), event)
        });
        let deliveries = self.deliveries.iter().map(|(project, count)| {
            let event = refused("delivery").with(json!({ "count": count }));
            (project.map_or(Chain::Service, Chain::Project), None, event)
        });
        let mut events: Vec<_> = strangers.into_iter().chain(callers).chain(deliveries).collect();
        // Whoever adds to several chains does so in one order.
        events.sort_by_key(|(chain, ..)| chain.id());
        events
    }

    fn of(&mut self, chain: Chain, caller: UserId, what: String) -> &mut u64 {
        self.callers.entry((chain, caller)).or_default().entry(what).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_noted_once_for_each_caller_however_many_there_were() {
        let refusals = DenialCounter::default();
        let ann = UserId::generate();
        let noted = |tally: &DenialCounts| {
            let events = tally.events().into_iter();
            events.map(|(_, who, event)| (who, event.target, event.details)).collect::<Vec<_>>()
        };
        let missing = || {
            refusals.answered(ann, &Method::GET, "/records/{id}", StatusCode::NOT_FOUND);
        };
        missing();
        missing();
        refusals.answered(ann, &Method::POST, "/save", StatusCode::FORBIDDEN);
        refusals.answered(ann, &Method::POST, "/save", StatusCode::OK);
        refusals.token();
        let taken = refusals.take();
        assert!(noted(&refusals.take()).is_empty());

        // What could not be noted is not lost.
        missing();
        refusals.restore_counts(taken);
        let operations = json!({ "GET /records/{id} 404": 3, "POST /save 403": 1 });
        let expected = [
            (None, "token".to_owned(), json!({ "count": 1 })),
            (Some(ann), "requests".to_owned(), json!({ "operations": operations })),
        ];
        assert_eq!(noted(&refusals.take()), expected);
    }

    #[test]
    fn what_a_role_is_too_low_for_is_the_projects_to_know() {
        let refusals = DenialCounter::default();
        let (project, ann) = (ProjectId::generate(), UserId::generate());
        refusals.role_too_low(project, ann, Permission::Curate);
        refusals.role_too_low(project, ann, Permission::Curate);
        let events = refusals.take().events();
        let [(Chain::Project(of), Some(who), event)] = &events[..] else { panic!("{events:?}") };
        assert_eq!((*of, *who), (project, ann));
        assert_eq!(event.details, json!({ "why": "role", "actions": { "curate": 2 } }));
    }
}
