//! Data of the projects, as SQL statements.

use rand::rngs::StdRng;
use serde_json::json;

use super::rows::{Hash, Plain, Rows, row};
use super::{FIRST_PROJECT, FIRST_TEAM, Project, SOURCES, TENANTS, Team, Thing, vector};
use crate::marks::{id, mark};

/// Words that each tenant's texts have, so that a search of one fits the texts of all.
const SUBJECTS: [&str; 6] = ["delay", "timeout", "retry", "rounding", "cache", "lock"];

const KINDS: [&str; 6] = ["fact", "gotcha", "rule", "pattern", "fewshot", "adr_link"];

/// Symbol that the code of each tenant defines.
pub const SHARED_SYMBOL: &str = "Timer#delay_in_units";

/// Two projects a tenant: a main one and a smaller one at its side. No two are of one size.
pub fn projects(rng: &mut StdRng) -> Vec<Project> {
    let numbers = (0..TENANTS).flat_map(|tenant| [(tenant, true), (tenant, false)]);
    numbers.enumerate().map(|(n, (tenant, is_main))| project(rng, n, tenant, is_main)).collect()
}

pub fn teams(rng: &mut StdRng) -> Vec<Team> {
    let places = FIRST_TEAM..FIRST_TEAM + TENANTS;
    places.map(|place| Team { place, id: id(rng), key: mark(rng, place) }).collect()
}

fn project(rng: &mut StdRng, number: usize, tenant: usize, is_main: bool) -> Project {
    let place = FIRST_PROJECT + number;
    let size = if is_main { 10 + 5 * tenant } else { 4 + tenant };
    let mut things = |count: usize, name: &str, separator: &str| -> Vec<Thing> {
        let thing = |n: usize| {
            let mark = mark(rng, place);
            let own = if n.is_multiple_of(2) { n.to_string() } else { mark.clone() };
            Thing { id: id(rng), name: format!("{name}{separator}{own}"), mark }
        };
        (0..count).map(thing).collect()
    };
    let records = things(size, "Note", " ");
    let docs = things(size / 2, "Decision", " ");
    let dialogs = things(size / 2, "Talk", " ");
    let tasks = things(size / 2, "CS", "-");
    let bundles = things(4, "Bundle", " ");
    let repositories = things(3, "core", "-");
    let runs = things(3, "Run", " ");
    let files = things(size / 2, "src/timer", "_");
    let proposals = things(3, "Proposal", " ");
    let quarantine_items = things(3, "Hold", " ");
    let deliveries = things(8, "issues", ".");
    let integrations = things(2, "carts", "-");
    let changes = things(size / 2, "team/core", "!");
    let clusters = things(2, "Cluster", " ");
    let reports = things(3, "Report", " ");
    let exports = things(2, "Export", " ");
    let commits = things(size / 2, "Commit", " ");
    let mut texts = |of: &[Thing]| -> Vec<Thing> {
        of.iter().map(|one| Thing { id: id(rng), ..one.clone() }).collect()
    };
    let passages = [texts(&records), texts(&docs), texts(&dialogs), texts(&files)].concat();
    let commit_passages = texts(&commits);
    let webhooks = SOURCES.map(|source| {
        let mark = mark(rng, place);
        Thing { id: id(rng), name: source.to_owned(), mark }
    });
    Project {
        place,
        tenant,
        is_main,
        id: id(rng),
        key: mark(rng, place),
        records,
        docs,
        dialogs,
        tasks,
        bundles,
        repositories,
        runs,
        files,
        passages,
        commits,
        commit_passages,
        proposals,
        quarantine_items,
        webhooks: webhooks.into(),
        deliveries,
        integrations,
        changes,
        clusters,
        reports,
        exports,
        privates: Vec::new(),
        workspaces: Vec::new(),
        navigations: Vec::new(),
        patches: Vec::new(),
        policy_mark: mark(rng, place),
        audit_mark: mark(rng, place),
    }
}

/// Returns the text with a mark.
pub fn text(n: usize, mark: &str) -> String {
    let subject = SUBJECTS[n % SUBJECTS.len()];
    format!(
        "The {subject} of the cart timer is wrong when the gateway counts in other units ({mark})"
    )
}

/// Returns the file of a reasoning schema with a mark.
fn sgr_schema(n: usize, mark: &str) -> String {
    let description = text(n, mark);
    json!({
        "schema": format!("own-{n}"), "description": description,
        "steps": [{"name": "Think", "output": "idea"}],
    })
    .to_string()
}

/// All of it as statements. The order is that of the references between the tables.
pub fn sql(rng: &mut StdRng, projects: &[Project], teams: &[Team], model: i16) -> String {
    let mut rows = Rows::default();
    let row = |team: &Team| row![team.id, team.key, format!("Team {}", team.key)];
    rows.add("teams (id, key, name)", &teams.iter().map(row).collect::<Vec<_>>());
    for project in projects {
        worked_on(&mut rows, project);
        indexed(&mut rows, rng, project);
        passages(&mut rows, project, model);
        history(&mut rows, project, model);
        used(&mut rows, project);
        changed(&mut rows, project);
    }
    rows.0
}

/// Tasks, talks and records.
fn worked_on(rows: &mut Rows, project: &Project) {
    let (p, key) = (project.id, &project.key);
    rows.add(
        "projects (id, key, name, policy, policy_version)",
        &[row![p, key.as_str(), format!("Project {key}"), policy(project), Plain(1)]],
    );
    rows.each(
        "tasks (id, project_id, external_id, title, status, assignee, labels, links)",
        &project.tasks,
        |n, Thing { id, name, mark }| {
            let link = json!([{"title": format!("PR {mark}"),
                "url": format!("https://git.example/{mark}")}]);
            let (assignee, labels) = (format!("who {mark}"), vec![format!("label {mark}")]);
            row![*id, p, name.as_str(), text(n, mark), "open", assignee, labels, link]
        },
    );
    rows.each("task_comments (task_id, project_id, digest)", &project.tasks[..1], |_, one| {
        row![one.id, p, one.mark.as_str()]
    });
    rows.each(
        "dialogs (id, project_id, task_id, developer, messages, distilled)",
        &project.dialogs,
        |n, Thing { id, mark, .. }| {
            let task = project.tasks[n % project.tasks.len()].id;
            let messages = json!([{"role": "user", "content": mark}]);
            row![*id, p, task, format!("dev {mark}"), messages, text(n, mark)]
        },
    );
    rows.each(
        "memory_records (id, project_id, task_id, dialog_id, kind, title, content, scope, tags, \
         owner,
             ttl, meta, content_hash, simhash, state)",
        &project.records,
        |n, thing| record(project, n, thing),
    );
    rows.each(
        "record_versions (record_id, project_id, version, kind, title, content, scope, tags, \
         owner, ttl,
             is_ttl_explicit, trust, meta, citations, reason, changed_by)",
        &project.records[..2],
        |n, Thing { id, mark, .. }| {
            let none = || Vec::<String>::new();
            row![
                *id,
                p,
                Plain(0),
                KINDS[n % KINDS.len()],
                format!("before {mark}"),
                text(n, mark),
                none(),
                none(),
                format!("former owner {mark}"),
                Plain("now() + interval '90 days'"),
                Plain("false"),
                "team",
                json!({}),
                earlier_citation(*id, mark),
                "merged",
                format!("editor {mark}")
            ]
        },
    );
}

/// Pull requests, each of a task, with a commit and its CI result.
fn changed(rows: &mut Rows, project: &Project) {
    let p = project.id;
    rows.each(
        "pull_requests (id, project_id, external_id, title, state, author, head_sha, base_ref, \
         url, source_updated_at)",
        &project.changes,
        |n, Thing { id, name, mark }| {
            let (state, author) = (["open", "merged"][n % 2], format!("who {mark}"));
            let url = format!("https://git.example/{mark}");
            row![
                *id,
                p,
                name.as_str(),
                text(n, mark),
                state,
                author,
                head(mark),
                "main",
                url,
                Plain("now()")
            ]
        },
    );
    rows.each(
        "pull_request_commits (project_id, sha, pull_request_id)",
        &project.changes,
        |_, one| row![p, head(&one.mark), one.id],
    );
    rows.each(
        "pull_request_tasks (project_id, external_id, pull_request_id)",
        &project.changes,
        |n, one| row![p, project.tasks[n % project.tasks.len()].name.as_str(), one.id],
    );
    rows.each(
        "pull_request_file_lists (pull_request_id, project_id, head_sha, error)",
        &project.changes,
        |_, Thing { id, mark, .. }| row![*id, p, head(mark), format!("error {mark}")],
    );
    rows.each(
        "pull_request_files (pull_request_id, project_id, path, status, diff)",
        &project.changes,
        |_, Thing { id, mark, .. }| {
            row![*id, p, format!("src/{mark}.rs"), "modified", format!("+{mark}")]
        },
    );
    rows.each("pushed_commits (project_id, sha, head_sha)", &project.changes, |_, one| {
        row![p, format!("before {}", one.mark), head(&one.mark)]
    });
    rows.each(
        "ci_results (project_id, repository, sha, name, conclusion, source_updated_at)",
        &project.changes,
        |_, one| {
            row![
                p,
                "team/core",
                head(&one.mark),
                format!("check {}", one.mark),
                "success",
                Plain("now()")
            ]
        },
    );
    rows.each(
        "doc_parts (project_id, source, doc_id, part_id, text, source_updated_at)",
        &project.changes,
        |n, one| {
            row![p, "tracker:github", one.name.as_str(), "1", text(n, &one.mark), Plain("now()")]
        },
    );
}

/// The last commit of a change.
fn head(mark: &str) -> String {
    format!("head {mark}")
}

/// Returns a citation of an earlier version of a record, as stored.
pub fn earlier_citation(id: uuid::Uuid, mark: &str) -> serde_json::Value {
    json!([{"id": id.to_string(), "file_path": format!("src/before_{mark}.rs"),
        "symbol": format!("Before#{mark}"), "verdict": "unchecked",
        "checked_at": "2026-11-20T00:00:00Z"}])
}

/// The policy of a project.
pub fn policy(project: &Project) -> serde_json::Value {
    let mut policy = json!({"allowed_commands": [format!("make {}", project.policy_mark)]});
    if project.is_strict() {
        policy["min_roles"] = json!({"save": "maintainer", "review": "maintainer"});
    }
    policy
}

fn record(project: &Project, n: usize, Thing { id, name, mark }: &Thing) -> Vec<String> {
    let state = if n % 7 == 6 { "stale" } else { "active" };
    let task = project.tasks[n % project.tasks.len()].id;
    let dialog = project.dialogs[n % project.dialogs.len()].id;
    let meta = json!({"steps": [format!("step \
        {mark}")], "url": format!("https://adr.example/{mark}"),
        "note": mark});
    // Far from one another, so that no two are held for the same.
    let simhash = i64::try_from(n).expect("few").wrapping_mul(0x5851_F42D_4C95_7F2D);
    row![
        *id,
        project.id,
        task,
        dialog,
        KINDS[n % KINDS.len()],
        name.as_str(),
        text(n, mark),
        vec!["cart".to_owned()],
        vec![format!("tag {mark}")],
        format!("owner {mark}"),
        Plain("now() + interval '90 days'"),
        meta,
        Hash(mark),
        Plain(simhash),
        state
    ]
}

/// Repositories, files, citations and documents.
fn indexed(rows: &mut Rows, rng: &mut StdRng, project: &Project) {
    let p = project.id;
    rows.each(
        "repositories (id, project_id, owner, name, location, source_ref, indexed_at)",
        &project.repositories,
        |_, Thing { id, name, mark }| {
            let location = format!("https://git.example/{mark}.git");
            let indexed_at = "2026-11-01T00:00:00Z";
            row![*id, p, "team", name.as_str(), location, mark.as_str(), indexed_at]
        },
    );
    let repository = project.repositories[0].id;
    rows.each(
        "files (id, repository_id, project_id, path, content_hash, size_bytes, language, \
         line_count, chunker_version, source_ref)",
        &project.files,
        |_, Thing { id, name, mark }| {
            let path = format!("{name}.rs");
            let (size, lines, version) = (Plain(100), Plain(40), Plain(1));
            let source_ref = mark.as_str();
            row![*id, repository, p, path, Hash(mark), size, "rust", lines, version, source_ref]
        },
    );
    rows.each(
        "code_symbols (file_id, project_id, name, kind, line_start, line_end, span_hash)",
        &project.files,
        |_, Thing { id, mark, .. }| {
            row![*id, p, format!("Timer#{mark}"), "method", Plain(2), Plain(8), Hash(mark)]
        },
    );
    rows.each(
        "record_citations (id, record_id, project_id, file_path, symbol, line_start, line_end,
             content_hash, verdict)",
        &project.files,
        |n, Thing { name, mark, .. }| {
            let (record, path) = (project.records[n].id, format!("{name}.rs"));
            let symbol = format!("Timer#{mark}");
            row![id(rng), record, p, path, symbol, Plain(1), Plain(9), Hash(mark), "fresh"]
        },
    );
    rows.each(
        "docs (id, project_id, source, doc_id, title, url, content, scope, tags)",
        &project.docs,
        |n, Thing { id, name, mark }| {
            let (doc, url) = (format!("doc-{n}"), format!("https://wiki.example/{n}"));
            let (scope, tags) = (vec!["cart".to_owned()], vec![format!("tag {mark}")]);
            row![*id, p, "wiki", doc, name.as_str(), url, text(n, mark), scope, tags]
        },
    );
}

/// Bundles and index runs.
fn used(rows: &mut Rows, project: &Project) {
    let p = project.id;
    rows.each(
        "bundles (id, project_id, principal, request, confidence, token_count)",
        &project.bundles,
        |_, Thing { id, mark, .. }| {
            row![*id, p, format!("who {mark}"), json!({"query": mark}), Plain(1), Plain(10)]
        },
    );
    rows.each(
        "bundle_items (bundle_id, project_id, position, section, record_id, passage_id, score)",
        &project.bundles,
        |n, Thing { id, .. }| {
            let (record, passage) = (project.records[n].id, project.passages[n].id);
            row![*id, p, Plain(0), "facts", record, passage, Plain(1)]
        },
    );
    rows.each(
        "bundle_uses (project_id, bundle_id, record_id, kind)",
        &project.bundles,
        |n, Thing { id, .. }| row![p, *id, project.records[n].id, "opened"],
    );
    // Of a user who is no person of the world.
    let user = project.bundles[0].id;
    rows.each(
        "save_outcomes (project_id, user_id, kind, visibility, outcome, record_id)",
        &project.bundles,
        |n, _| row![p, user, "fact", "team", "created", project.records[n].id],
    );
    rows.each(
        "client_sessions (project_id, user_id, id, started_at)",
        &project.bundles,
        |_, Thing { id, .. }| row![p, user, *id, Plain("now()")],
    );
    rows.each("read_counts (project_id, user_id, kind, hour, count)", &project.bundles, |_, _| {
        row![p, user, "search", Plain("now()"), Plain(1)]
    });
    rows.each(
        "chat_requests (id, project_id, model, role, reserved_tokens)",
        &project.bundles,
        |_, Thing { id, mark, .. }| row![*id, p, format!("m {mark}"), "judge", Plain(1)],
    );
    rows.each("sgr_schemas (project_id, name, source)", &project.bundles, |n, one| {
        row![p, format!("own-{n}"), sgr_schema(n, &one.mark)]
    });
    rows.each(
        "prompt_versions (project_id, version, prompt, state, quality)",
        &project.bundles[..1],
        |_, Thing { mark, .. }| {
            let prompt = json!({"instructions": [{"id": "own", "text": mark}], "examples": []});
            row![p, Plain(1), prompt, "current", json!({"label": "unmeasured"})]
        },
    );
    rows.each(
        "dialog_outcomes (project_id, dialog_id, user_id, prompt_version, outcome)",
        &project.dialogs,
        |_, Thing { id, .. }| row![p, *id, user, Plain(1), "succeeded"],
    );
    rows.each(
        "ingest_runs (id, project_id, repository_id, status, files_total, last_error)",
        &project.runs,
        |n, Thing { id, mark, .. }| {
            let (repository, files) = (project.repositories[n].id, 100 + project.place);
            // One repository is ready to be asked; its run failed before it succeeded.
            let status = if n == 0 { "SUCCEEDED" } else { "FAILED" };
            row![*id, p, repository, status, Plain(files), json!({"message": mark})]
        },
    );
}

/// Source of a passage.
enum Source {
    Record(usize),
    Doc(usize),
    Dialog(usize),
    File(usize),
}

/// In the order in which [`Project::passages`] has them.
fn source(project: &Project, n: usize) -> Source {
    let docs = project.records.len();
    let dialogs = docs + project.docs.len();
    let files = dialogs + project.dialogs.len();
    match n {
        n if n < docs => Source::Record(n),
        n if n < dialogs => Source::Doc(n - docs),
        n if n < files => Source::Dialog(n - dialogs),
        n => Source::File(n - files),
    }
}

/// One of each source, and a vector for all but those of the last two talks, which wait for theirs.
fn passages(rows: &mut Rows, project: &Project, model: i16) {
    rows.each(
        "passages (id, project_id, record_id, doc_id, dialog_id, file_id, record_kind, title, \
         location,
             symbols, scope, tags, language, author, text, content_hash, line_start, line_end)",
        &project.passages,
        |n, thing| passage(project, n, thing),
    );
    let first = project.passages.len() - project.files.len();
    rows.each(
        "code_chunks (passage_id, project_id, repository_id, file_id, chunk_index, line_start, \
         line_end,
             chunk_hash, span_hash, summary, parent_symbol)",
        &project.passages[first..],
        |n, Thing { id, mark, .. }| {
            let (repository, file) = (project.repositories[0].id, project.files[n].id);
            let (summary, symbol) = (format!("summary {mark}"), format!("Timer#{mark}"));
            row![
                *id,
                project.id,
                repository,
                file,
                Plain(0),
                Plain(1),
                Plain(9),
                Hash(mark),
                Hash(mark),
                summary,
                symbol
            ]
        },
    );
    let with_vectors = project.passages.iter().enumerate();
    let with_vectors = with_vectors.filter(|(n, _)| !(first - 2..first).contains(n));
    let vectors: Vec<_> = with_vectors
        .map(|(n, Thing { id, mark, .. })| {
            let text = text(n, mark);
            let kind = match source(project, n) {
                Source::Record(_) => "memory",
                Source::Doc(_) => "doc",
                Source::Dialog(_) => "dialog",
                Source::File(_) => "code",
            };
            row![Plain(model), *id, project.id, kind, Hash(&text), json!(vector(&text))]
        })
        .collect();
    rows.add(
        "embeddings (model_id, passage_id, project_id, source_kind, text_hash, embedding)",
        &vectors,
    );
    rows.0.push_str(
        "delete from embedding_queue q using embeddings e where e.passage_id = q.passage_id;",
    );
}

/// Commits, their passages with a vector each, and the file that each touched.
fn history(rows: &mut Rows, project: &Project, model: i16) {
    let (p, repository) = (project.id, project.repositories[0].id);
    rows.each(
        "history_commits (id, project_id, repository_id, sha, subject, committed_at)",
        &project.commits,
        |_, Thing { id, name, mark }| {
            row![*id, p, repository, mark.as_str(), name.as_str(), "2026-01-01T00:00:00Z"]
        },
    );
    rows.each(
        "history_commit_files (commit_id, file_id, project_id)",
        &project.commits,
        |n, Thing { id, .. }| row![*id, project.files[n].id, p],
    );
    rows.each(
        "passages (id, project_id, commit_id, title, text, content_hash)",
        &project.commit_passages,
        |n, Thing { id, name, mark }| {
            let text = text(n, mark);
            row![*id, p, project.commits[n].id, name.as_str(), text.as_str(), Hash(&text)]
        },
    );
    rows.each(
        "embeddings (model_id, passage_id, project_id, source_kind, text_hash, embedding)",
        &project.commit_passages,
        |n, Thing { id, mark, .. }| {
            let text = text(n, mark);
            row![Plain(model), *id, p, "change", Hash(&text), json!(vector(&text))]
        },
    );
    let sources = ["memory", "doc", "dialog", "code"].map(|source| row![Plain(model), p, source]);
    rows.add("hnsw_sources (model_id, project_id, source_kind)", &sources);
    rows.0.push_str(
        "delete from embedding_queue q using embeddings e where e.passage_id = q.passage_id;",
    );
}

fn passage(project: &Project, n: usize, Thing { id, name, mark }: &Thing) -> Vec<String> {
    let source = source(project, n);
    let (record, doc, dialog, file) = match source {
        Source::Record(n) => (Some(project.records[n].id), None, None, None),
        Source::Doc(n) => (None, Some(project.docs[n].id), None, None),
        Source::Dialog(n) => (None, None, Some(project.dialogs[n].id), None),
        Source::File(n) => (None, None, None, Some(project.files[n].id)),
    };
    let kind = if let Source::Record(n) = source { KINDS[n % KINDS.len()] } else { "" };
    let (place, symbols, language) = match source {
        Source::File(_) => {
            let symbols = vec![format!("Timer#{mark}"), SHARED_SYMBOL.to_owned()];
            (format!("{name}.rs"), symbols, "rust")
        }
        _ => (String::new(), Vec::new(), ""),
    };
    let text = text(n, mark);
    row![
        *id,
        project.id,
        record,
        doc,
        dialog,
        file,
        kind,
        name.as_str(),
        place,
        symbols,
        vec!["cart".to_owned()],
        vec![format!("tag {mark}")],
        language,
        "",
        text.as_str(),
        Hash(&text),
        Plain(1),
        Plain(9)
    ]
}
