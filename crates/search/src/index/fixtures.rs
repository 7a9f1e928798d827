//! Fixtures for the tests of the keyword index.

use mc_domain::{PassageId, ProjectId, RecordKind, RepositoryId, SourceKind, UserId};
use mc_store::passages::IndexedPassage;
use tantivy::{Index, IndexWriter, Searcher};

use super::schema::{self, Fields};

/// Creates a passage with a value in each field.
pub(crate) fn full(project: ProjectId) -> IndexedPassage {
    IndexedPassage {
        id: PassageId::generate(),
        project,
        private_to: Some(UserId::generate()),
        source: SourceKind::Memory,
        record_kind: RecordKind::Gotcha.as_str().to_owned(),
        title: "Rounding of wages".to_owned(),
        location: "app/payroll/run.rb".to_owned(),
        symbols: vec!["Payroll::Run#total".to_owned()],
        scope: vec!["wages".to_owned(), "taxes".to_owned()],
        tags: vec!["billing".to_owned(), "money".to_owned()],
        repository: Some(RepositoryId::generate()),
        language: "ruby".to_owned(),
        author: "ann".to_owned(),
        context: "about the run of May".to_owned(),
        text: "wages are rounded to cents".to_owned(),
    }
}

/// Creates an index of these passages in memory.
pub(crate) fn index_of(passages: &[IndexedPassage]) -> (Searcher, Fields) {
    let (schema, fields) = schema::schema();
    let index = Index::create_in_ram(schema);
    schema::register_tokenizer(&index);
    let mut writer: IndexWriter =
        index.writer_with_num_threads(1, 15_000_000).expect("a writer in memory");
    for passage in passages {
        writer.add_document(fields.document(passage)).expect("a document");
    }
    writer.commit().expect("a commit");
    (index.reader().expect("a reader").searcher(), fields)
}
