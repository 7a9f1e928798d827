//! Hygiene runs and duplicates of the projects, as SQL statements.

use mc_memory::export::compress;
use mc_memory::normalize::content_hash;
use uuid::Uuid;

use super::rows::{Plain, Rows, row};
use super::seed::text;
use super::{Project, Thing};

/// The records of the n-th cluster of a project.
pub fn pair(project: &Project, n: usize) -> [&Thing; 2] {
    [&project.records[2 * n], &project.records[2 * n + 1]]
}

/// All of it as statements. The records must be there already.
pub fn sql(projects: &[Project]) -> String {
    let mut rows = Rows::default();
    for project in projects {
        rows.each(
            "duplicate_clusters (id, project_id, record_ids, content_hashes, similarity)",
            &project.clusters,
            |n, Thing { id, .. }| {
                let [kept, other] = pair(project, n);
                let members = Plain(format!("array['{}', '{}']::uuid[]", kept.id, other.id));
                let contents = Plain("array['\\x00', '\\x01']::bytea[]");
                row![*id, project.id, members, contents, Plain(0.9)]
            },
        );
        rows.each(
            "hygiene_runs (id, project_id, task, is_dry_run, last_error)",
            &project.reports,
            |_, Thing { id, mark, .. }| {
                row![*id, project.id, "duplicates", Plain(false), format!("because of {mark}")]
            },
        );
        rows.each(
            "exports (id, project_id, record_count, size_bytes, document)",
            &project.exports,
            |n, Thing { id, mark, .. }| {
                let document = hex::encode(compress(&text(n, mark)).expect("packed"));
                let document = Plain(format!("'\\x{document}'::bytea"));
                row![*id, project.id, Plain(1), Plain(1), document]
            },
        );
    }
    rows.0
}

/// A statement that adds two records and the cluster of them, with these words.
pub fn cluster(project: &Project, id: Uuid, members: [Uuid; 2], words: &str) -> String {
    let texts = ["one", "two"].map(|number| format!("{number} {words}"));
    let record = |at: usize| {
        format!(
            "insert into memory_records (id, project_id, kind, content, ttl, content_hash, simhash)
             values ('{}', '{}', 'fact', '{}', now() + interval '1 day', sha256('{}'), 1);",
            members[at], project.id, texts[at], texts[at]
        )
    };
    let [first, second] = texts.each_ref().map(|texts| hex::encode(content_hash(texts)));
    format!(
        "{} {} insert into duplicate_clusters (id, project_id, record_ids, content_hashes, \
         similarity)
         values ('{id}', '{}', array['{}', '{}']::uuid[], array['\\x{first}', \
         '\\x{second}']::bytea[], 1)",
        record(0),
        record(1),
        project.id,
        members[0],
        members[1]
    )
}
