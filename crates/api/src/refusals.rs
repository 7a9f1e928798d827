//! What callers were refused, gathered until it is noted: each by itself, it would let whoever knocks at
//! every door fill the audit.

use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::sync::{Mutex, PoisonError};

use http::{Method, StatusCode};
use mc_domain::{Act, UserId};
use mc_store::audit::NewEvent;
use serde_json::json;

/// What was refused since it was last taken.
#[derive(Debug, Default)]
pub struct Refusals(Mutex<Tally>);

#[derive(Debug, Default)]
struct Tally {
    /// Tokens that let nobody in.
    tokens: u64,
    /// How often each caller was told no, or that there is nothing, by operation and status:
    /// `GET /records/{id} 404`. There are no more operations than routes.
    callers: HashMap<UserId, BTreeMap<String, u64>>,
}

impl Refusals {
    /// Counts a token that lets nobody in.
    pub fn token(&self) {
        self.tally(|tally| tally.tokens += 1);
    }

    /// Counts what a caller was answered, if it was a refusal: 403, or 404, which is also the answer for
    /// what is there and not theirs. `route` is the pattern, never the path.
    pub fn answered(&self, caller: UserId, method: &Method, route: &str, status: StatusCode) {
        if matches!(status, StatusCode::FORBIDDEN | StatusCode::NOT_FOUND) {
            let operation = format!("{method} {route} {}", status.as_u16());
            self.tally(|tally| {
                *tally.callers.entry(caller).or_default().entry(operation).or_default() += 1;
            });
        }
    }

    /// What is to be noted, and who did it; from then on the count begins anew.
    pub fn take(&self) -> Vec<(Option<UserId>, NewEvent)> {
        let Tally { tokens, callers } = self.tally(mem::take);
        let strangers = (tokens > 0)
            .then(|| (None, NewEvent::new(Act::Refused, "token").with(json!({ "count": tokens }))));
        let callers = callers.into_iter().map(|(caller, operations)| {
            let detail = json!({ "operations": operations });
            (Some(caller), NewEvent::new(Act::Refused, "requests").with(detail))
        });
        strangers.into_iter().chain(callers).collect()
    }

    fn tally<R>(&self, then: impl FnOnce(&mut Tally) -> R) -> R {
        then(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_noted_once_for_each_caller_however_many_there_were() {
        let refusals = Refusals::default();
        let ann = UserId::generate();
        for _ in 0..3 {
            refusals.answered(ann, &Method::GET, "/records/{id}", StatusCode::NOT_FOUND);
        }
        refusals.answered(ann, &Method::POST, "/save", StatusCode::FORBIDDEN);
        refusals.answered(ann, &Method::POST, "/save", StatusCode::OK);
        refusals.token();
        refusals.token();
        let noted: Vec<_> = refusals
            .take()
            .into_iter()
            .map(|(who, event)| (who, event.subject, event.detail))
            .collect();
        let operations = json!({ "GET /records/{id} 404": 3, "POST /save 403": 1 });
        assert_eq!(
            noted,
            [
                (None, "token".to_owned(), json!({ "count": 2 })),
                (Some(ann), "requests".to_owned(), json!({ "operations": operations })),
            ]
        );
        assert!(refusals.take().is_empty());
    }
}
