use tantivy::Searcher;

use super::*;
use crate::index::fixtures::{full, index_of};

/// Fields whose terms have no project. The follower deletes a passage by `id`, because it knows
/// only the id of a deleted passage; no search uses that field. (`id_high` and `id_low` are columns
/// without terms.)
const WITHOUT_PROJECT: [&str; 1] = ["id"];

fn terms(searcher: &Searcher, field: Field) -> Vec<String> {
    let mut found = Vec::new();
    for segment in searcher.segment_readers() {
        let index = segment.inverted_index(field).expect("the field's part of the index");
        let mut terms = index.terms().stream().expect("its terms");
        while terms.advance() {
            found.push(String::from_utf8_lossy(terms.key()).into_owned());
        }
    }
    found
}

#[test]
fn every_term_of_every_field_begins_with_its_project() {
    let project = ProjectId::generate();
    let commit = IndexedPassage { source: SourceKind::Change, ..full(project) };
    let (searcher, _) = index_of(&[full(project), commit]);
    let prefix = project.0.simple().to_string();
    for (field, entry) in searcher.schema().fields().filter(|(_, entry)| entry.is_indexed()) {
        if WITHOUT_PROJECT.contains(&entry.name()) {
            continue;
        }
        let terms = terms(&searcher, field);
        assert!(!terms.is_empty(), "the sample has nothing in {}", entry.name());
        for term in terms {
            assert!(term.starts_with(&prefix), "{term:?} of {} has no project", entry.name());
        }
    }
}

#[test]
fn projects_share_no_term() {
    let projects = [ProjectId::generate(), ProjectId::generate()];
    let passages = projects.map(full);
    let (searcher, fields) = index_of(&passages);
    for project in projects {
        for (field, value) in [
            (fields.project, ""),
            (fields.hidden, ""),
            (fields.source, "memory"),
            (fields.record_kind, "gotcha"),
            (fields.scope, "wages"),
            (fields.tags, "billing"),
            (fields.language, "ruby"),
            (fields.location, "app/payroll/run.rb"),
            (fields.path_key, "run.rb"),
            (fields.symbol_key, "total"),
        ] {
            let term = Scope::of(project).term(field, value);
            assert_eq!(searcher.doc_freq(&term).expect("a count"), 1, "{term:?}");
        }
    }
}

#[test]
fn commits_have_a_separate_field_and_statistics() {
    let project = ProjectId::generate();
    let commit = IndexedPassage { source: SourceKind::Change, ..full(project) };
    let (searcher, fields) = index_of(&[commit]);
    let scope = Scope::of(project);
    let count = |term: Term| searcher.doc_freq(&term).expect("a count");
    assert_eq!(count(scope.term(fields.change, "wage")), 1);
    for field in [fields.body, fields.window, fields.path] {
        assert!(terms(&searcher, field).is_empty());
    }
    assert_eq!(count(fields.corpus_term(project, Corpus::Changes)), 1);
    assert_eq!(count(fields.corpus_term(project, Corpus::Passages)), 0);
    assert_eq!(count(scope.term(fields.path_key, "run.rb")), 0, "commits have no names");
}
