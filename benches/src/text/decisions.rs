//! Generated notes with unique ids: decisions about retries. They need no sources, and the service
//! never merges them.

const AREAS: [&str; 10] = [
    "payment",
    "invoice",
    "search",
    "mail",
    "stock",
    "webhook",
    "thumbnail",
    "ledger",
    "login",
    "price",
];
const ROLES: [&str; 6] = ["worker", "exporter", "indexer", "relay", "importer", "scheduler"];
const REASONS: [&str; 24] = [
    "the bank drops idle connections at night",
    "the broker answers 503 while it elects a leader",
    "a replica may lag behind the primary for a second",
    "the partner limits us to ten calls a second",
    "a deadlock with the nightly batch is gone on the next attempt",
    "name resolution in the old data centre times out under load",
    "the token expires in the middle of long uploads",
    "the lock of a crashed node is only released after its lease",
    "the object store shows a new key late",
    "the load balancer cuts connections while it drains",
    "a cold start of the function takes longer than the client waits",
    "the proxy resets a stream after a hundred requests",
    "the first query after a failover meets a closed pool",
    "the sandbox of the vendor loses one request in fifty",
    "a schema change holds the table for a moment",
    "the certificate store reloads every hour",
    "the message may arrive before the row it speaks of",
    "the disk of the shared runner stalls during snapshots",
    "the upstream cache serves an old error for a minute",
    "a burst of imports fills the queue of connections",
    "the mail provider delays senders it has not seen",
    "two nodes may pick the same job until the lease is written",
    "the mainframe closes its gateway for ten minutes at midnight",
    "the read model is rebuilt while the shop stays open",
];

/// Number of notes with a unique combination of area, role and reason.
pub const DISTINCT: usize = AREAS.len() * ROLES.len() * REASONS.len();

/// Returns the unique id of a note.
pub fn identifier(number: usize) -> String {
    format!("E{number:04}")
}

/// Returns a note by its number, below [`DISTINCT`].
pub fn note(number: usize) -> String {
    let (id, area, role) =
        (identifier(number), AREAS[number % 10], ROLES[number / AREAS.len() % ROLES.len()]);
    let reason = REASONS[number / (AREAS.len() * ROLES.len()) % REASONS.len()];
    let (times, wait) = (3 + number % 7, 1 + number % 11);
    match number % 3 {
        0 => format!(
            "Decision {id}: the {area} {role} retries {times} times, {wait} s apart, because \
             {reason}."
        ),
        1 => format!(
            "Decision {id}: the {area} {role} retries with a backoff from {wait} s up to {times} \
             attempts, as {reason}."
        ),
        _ => format!(
            "Decision {id}: since {reason}, the {area} {role} retries after {wait} s and gives up \
             after {times} tries."
        ),
    }
}

/// Returns a query for that note.
pub fn question(number: usize) -> String {
    format!("why does {} retry", identifier(number))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn notes_differ_beyond_their_id() {
        let told = |number| note(number).replace(&identifier(number), "");
        let notes: HashSet<String> = (0..DISTINCT).map(told).collect();
        assert_eq!(notes.len(), DISTINCT);
    }
}
