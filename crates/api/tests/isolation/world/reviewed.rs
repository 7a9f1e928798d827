//! Private records, proposals, quarantine items and audit events of the projects, as SQL
//! statements.

use std::fmt::Write as _;

use mc_crypto::{AssociatedData, Encryptor};
use mc_domain::{AuditAction, ProjectId, RecordKind, Trust, UserId, Visibility};
use mc_memory::SaveRequest;
use mc_store::audit::{self, Chain, NewEvent};
use mc_testkit::TestDatabase;
use rand::rngs::StdRng;
use serde_json::json;
use uuid::Uuid;

use super::rows::{Hash, Plain, Rows, row};
use super::seed::{earlier_citation, policy, text};
use super::{FIRST_PRIVATE, Person, Post, Private, Project, Thing, World, execute, vector};
use crate::marks::{id, mark};

/// Who keeps something to themselves in projects of their tenant; some may not read it any more.
const KEEPERS: [Post; 6] =
    [Post::Agent, Post::Member, Post::Maintainer, Post::Admin, Post::Teammate, Post::Removed];

/// Generates private data of persons in each project.
pub fn privates(rng: &mut StdRng, projects: &mut [Project], people: &[Person]) {
    let mut places = FIRST_PRIVATE..;
    for project in projects {
        let keeps = |one: &&Person| match one.post {
            Post::Root | Post::Local => true,
            // In the project at the side they only read, or are nothing.
            Post::Member | Post::Teammate if !project.is_main => false,
            post => one.tenant == Some(project.tenant) && KEEPERS.contains(&post),
        };
        let keepers = people.iter().filter(keeps);
        let private = |person: &Person| {
            let place = places.next().expect("a place");
            let things = |rng: &mut StdRng| {
                let mark = mark(rng, place);
                Thing { id: id(rng), name: format!("Private {mark}"), mark }
            };
            let records = vec![things(rng), things(rng)];
            let passages = records.iter().map(|one| Thing { id: id(rng), ..one.clone() }).collect();
            Private { place, owner: person.id, records, passages }
        };
        project.privates = keepers.map(private).collect();
    }
}

/// All of it as statements. The people must be there already.
pub fn sql(projects: &[Project], people: &[Person], model: i16, encryptor: &Encryptor) -> String {
    let mut rows = Rows::default();
    for project in projects {
        let of_tenant =
            |one: &&Person| one.tenant == Some(project.tenant) && one.post == Post::Maintainer;
        let maintainer = people.iter().find(of_tenant).expect("a maintainer");
        let author = maintainer.id;
        let version = row![project.id, Plain(1), policy(project), author];
        rows.add("policy_versions (project_id, version, policy, changed_by)", &[version]);
        for (n, Thing { id, mark, .. }) in project.proposals.iter().enumerate() {
            let amends = if n == 0 { Some(project.records[0].id) } else { None };
            rows.0.push_str(&proposal(project, *id, &text(n, mark), amends));
            rows.0.push(';');
        }
        let sources = project.records.iter().chain(&project.proposals);
        let sources = sources.map(|thing| source(project, thing, author));
        let private = project.privates.iter().flat_map(|private| {
            private.records.iter().map(|thing| source(project, thing, private.owner))
        });
        add_private_records(&mut rows, project, model);
        let sources: Vec<_> = sources.chain(private).collect();
        rows.add(
            "record_contributions (project_id, record_id, version, saved_by, source)",
            &sources,
        );
        rows.each(
            "quarantine_items (id, project_id, kind, reasons, excerpt, ciphertext, submitted_by, \
             state, expires_at)",
            &project.quarantine_items,
            |n, Thing { id, mark, .. }| {
                let is_pending = n % 2 == 0;
                let state = if is_pending { "pending" } else { "deleted" };
                let expires = Plain("now() + interval '30 days'");
                let reasons = vec![format!("reason {mark}")];
                // A decided item has no excerpt.
                let summary = if is_pending { text(n, mark) } else { String::new() };
                let envelope = if is_pending {
                    encrypted(encryptor, project, *id, maintainer, &text(n, mark))
                } else {
                    String::new()
                };
                let envelope = Plain(format!("'\\x{envelope}'::bytea"));
                row![*id, project.id, "save", reasons, summary, envelope, author, state, expires]
            },
        );
    }
    rows.0.push_str(
        "delete from embedding_queue q using embeddings e where e.passage_id = q.passage_id;
         insert into embedding_queue (passage_id, model_id, project_id, private_to)
         select p.id, m.id, p.project_id, p.private_to from passages p, embedding_models m
         where p.private_to is not null
         on conflict do nothing;",
    );
    rows.0
}

fn source(project: &Project, Thing { id, mark, .. }: &Thing, by: Uuid) -> Vec<String> {
    row![project.id, *id, Plain(1), by, format!("https://source.example/{mark}")]
}

/// Private records with all their dependent rows, which must not reveal them.
fn add_private_records(rows: &mut Rows, project: &Project, model: i16) {
    for (at, private) in project.privates.iter().enumerate() {
        let mut vectors = Vec::new();
        for (n, (record, passage)) in private.records.iter().zip(&private.passages).enumerate() {
            let Thing { id, name, mark } = record;
            let text = text(n, mark);
            rows.0.push_str(&self::private(project, *id, private.owner, &text));
            rows.0.push(';');
            let set = format!(
                "update memory_records set title = '{name}', simhash = {},
                 dialog_id = '{}', task_id = '{}', tags = array['tag {mark}'] where id = '{id}';",
                (i64::try_from(100 + 10 * at + n).expect("few"))
                    .wrapping_mul(0x5851_F42D_4C95_7F2D),
                project.dialogs[0].id,
                project.tasks[0].id
            );
            rows.0.push_str(&set);
            rows.add(
                "record_versions (record_id, project_id, version, kind, title, content, scope, \
                 tags, owner,
                     ttl, is_ttl_explicit, trust, meta, citations, reason)",
                &[row![
                    *id,
                    project.id,
                    Plain(0),
                    "fact",
                    format!("before {mark}"),
                    text.as_str(),
                    Vec::<String>::new(),
                    Vec::<String>::new(),
                    format!("former owner {mark}"),
                    Plain("now() + interval '1 day'"),
                    Plain("false"),
                    "untrusted",
                    json!({}),
                    earlier_citation(*id, mark),
                    "merged"
                ]],
            );
            rows.add(
                "record_citations (id, record_id, project_id, file_path, symbol, line_start, \
                 line_end,
                     content_hash, verdict)",
                &[row![
                    passage.id,
                    *id,
                    project.id,
                    format!("src/{mark}.rs"),
                    format!("Timer#{mark}"),
                    Plain(1),
                    Plain(9),
                    Hash(mark),
                    "fresh"
                ]],
            );
            rows.add(
                "passages (id, project_id, record_id, record_kind, title, location, symbols, tags, \
                 text, content_hash,
                     private_to)",
                &[row![passage.id, project.id, *id, "fact", name.as_str(), format!("src/{mark}.rs"),
                    vec![format!("Timer#{mark}")], vec![format!("tag {mark}")], text.as_str(),
                    Hash(&text),
                    private.owner]],
            );
            let vector = json!(vector(&text));
            vectors.push(row![
                Plain(model),
                passage.id,
                project.id,
                "memory",
                Hash(&text),
                vector,
                private.owner
            ]);
        }
        rows.add(
            "embeddings (model_id, passage_id, project_id, source_kind, text_hash, embedding, \
             private_to)",
            &vectors,
        );
    }
}

/// A statement that keeps a record for one reader alone, without a passage.
pub fn private(project: &Project, id: Uuid, owner: Uuid, words: &str) -> String {
    format!(
        "insert into memory_records (id, project_id, kind, content, ttl, content_hash, simhash, \
         visibility, private_to, trust)
         values ('{id}', '{}', 'fact', '{words}', now() + interval '1 day', sha256('{words}'), 1, \
         'private', '{owner}', 'untrusted')",
        project.id
    )
}

/// A statement that puts a record before the reviewers.
pub fn proposal(project: &Project, id: Uuid, words: &str, amends: Option<Uuid>) -> String {
    let amends = row![amends].remove(0);
    format!(
        "insert into memory_records (id, project_id, kind, content, ttl, content_hash, simhash, \
         visibility, trust, amends_record_id)
         values ('{id}', '{}', 'fact', '{words}', now() + interval '1 day', sha256('{words}'), 1, \
         'proposed', 'untrusted', {amends})",
        project.id
    )
}

/// A statement that holds a save of `sender`'s, encrypted as the service does it.
pub fn quarantine_item(
    world: &World,
    project: &Project,
    id: Uuid,
    sender: &Person,
    words: &str,
) -> String {
    let encrypted = encrypted(&world.encryptor, project, id, sender, words);
    let mut sql = String::new();
    write!(
        sql,
        "insert into quarantine_items (id, project_id, kind, reasons, excerpt, ciphertext, \
         submitted_by, expires_at)
         values ('{id}', '{}', 'save', array['override'], '{words}', '\\x{}', '{}', now() + \
         interval '1 day')",
        project.id, encrypted, sender.id
    )
    .expect("text");
    sql
}

/// A save as it is held, in hexadecimal.
fn encrypted(
    encryptor: &Encryptor,
    project: &Project,
    id: Uuid,
    sender: &Person,
    words: &str,
) -> String {
    let request = SaveRequest {
        saved_by: Some(UserId(sender.id)),
        visibility: Visibility::Proposed,
        trust: Trust::Untrusted,
        ..SaveRequest::new(ProjectId(project.id), sender.login.as_str(), RecordKind::Fact, words)
    };
    let place = AssociatedData { purpose: "quarantine_items.ciphertext", row: id.as_bytes() };
    hex::encode(encryptor.encrypt(place, &serde_json::to_vec(&request).expect("JSON")))
}

/// Writes the first event of each project's audit with a checkpoint, and an event of the service.
pub async fn audited(database: &TestDatabase, projects: &[Project]) {
    let mut rows = Rows::default();
    for project in projects {
        let event = NewEvent::new(AuditAction::IngestRunRequested, &project.audit_mark);
        let chain = Chain::Project(ProjectId(project.id));
        let event = event.with(json!({"note": project.audit_mark}));
        audit::record_in_own_tx(database.store(), chain, None, &[event]).await.expect("an event");
        let checkpoint = row![project.id, Plain(0), Plain("''"), Plain("''"), Plain("''")];
        rows.add("audit_checkpoints (chain, seq, mac, key_id, checkpoint_mac)", &[checkpoint]);
    }
    execute(database, &rows.0).await;
    let event = NewEvent::new(AuditAction::UserChanged, "somebody");
    audit::record_in_own_tx(database.store(), Chain::Service, None, &[event])
        .await
        .expect("an event");
}
