"""The notes that every system is given, and what they are asked for.

Decisions about retries: each has an id of its own (`E0123`), which is what a question names, and a
service and a reason that no other note combines.
"""

SERVICES = (
    "payment worker", "invoice exporter", "search indexer", "mail relay", "cart session cleaner",
    "stock importer", "webhook dispatcher", "thumbnail renderer", "ledger reconciler", "login gateway",
    "price feed reader", "audit shipper", "coupon validator", "delivery planner", "chat bridge",
    "backup runner", "tax calculator", "refund processor", "catalogue sync", "report scheduler",
    "session broker", "fraud scorer", "push notifier", "label printer", "archive compactor",
)  # fmt: skip
REASONS = (
    "the bank drops idle connections at night",
    "the broker answers 503 while it elects a leader",
    "a replica may lag behind the primary for a second",
    "the partner's API limits us to ten calls a second",
    "a deadlock with the nightly batch is gone on the next attempt",
    "DNS in the old data centre times out under load",
    "the token expires in the middle of long uploads",
    "the lock of a crashed node is only released after its lease",
    "the object store shows a new key late",
    "the load balancer cuts connections while it drains",
    "a cold start of the function takes longer than the client waits",
    "the proxy resets a stream after a hundred requests",
    "the first query after a failover meets a closed pool",
    "the vendor's sandbox loses one request in fifty",
    "a schema change holds the table for a moment",
    "the certificate store reloads every hour",
    "the message may arrive before the row it speaks of",
    "the disk of the shared runner stalls during snapshots",
    "the upstream cache serves a stale error for a minute",
    "a burst of imports fills the queue of connections",
    "the mail provider greylists senders it has not seen",
    "two nodes may pick the same job until the lease is written",
    "the mainframe closes its gateway for ten minutes at midnight",
    "the read model is rebuilt while the shop stays open",
    "the exchange rate service is unavailable on bank holidays",
    "a checksum sometimes fails on the first read after an upload",
    "the office VPN renegotiates its keys every half hour",
    "the licence server allows only three sessions",
    "the page is served before its fragments are warm",
    "an old firmware answers busy while it logs",
    "the customs interface rejects bursts without saying why",
    "the token bucket of the geocoder refills slowly",
    "the queue redelivers when a consumer is paused for a collection",
    "the signature service rotates its clock skew",
    "a failed canary is rolled back while requests are in flight",
    "the warehouse scanner loses its radio between the aisles",
)
PATTERNS = (
    "Decision {id}: the {service} retries {times} times, {wait} s apart, because {reason}.",
    "Decision {id}: the {service} retries with a backoff from {wait} s up to {times} attempts, as {reason}.",
    "Decision {id}: since {reason}, the {service} retries after {wait} s and gives up after {times} tries.",
)

QUESTIONS = 50
# Numbers from here on would combine service and reason again.
DISTINCT = len(SERVICES) * len(REASONS)


def identifier(number: int) -> str:
    """The id of a note."""
    return f"E{number:04}"


def note(number: int) -> str:
    """The text of a note, from 0 to `DISTINCT` - 1."""
    pattern = PATTERNS[number % len(PATTERNS)]
    return pattern.format(
        id=identifier(number),
        service=SERVICES[number % len(SERVICES)],
        reason=REASONS[number // len(SERVICES)],
        times=3 + number % 7,
        wait=1 + number % 11,
    )


def questions(notes: int) -> list[tuple[str, str]]:
    """Evenly spread over the first `notes` notes: what is asked, and the id that answers it."""
    ids = [identifier(number) for number in range(0, notes, notes // QUESTIONS)]
    return [(f"why does {id} retry", id) for id in ids]
