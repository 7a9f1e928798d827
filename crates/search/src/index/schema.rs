//! The fields of the keyword index, and how a passage becomes a document.

use mc_store::passages::IndexedPassage;
use tantivy::schema::{
    BytesOptions, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::{TantivyDocument, Term};

use crate::analyser::TOKENIZER_NAME;
use crate::names;

/// Raised with every change of the schema, the analyser or the look-up spellings: an index of
/// another format is built anew.
pub const FORMAT: u32 = 2;

/// The fields by name.
#[derive(Debug, Clone, Copy)]
pub struct Fields {
    /// The passage's id, 16 bytes: to delete by, and all that a search reads of a hit.
    pub id: Field,
    /// Filters, each value one term.
    pub project: Field,
    /// What it was cut from.
    pub source: Field,
    /// Kind of memory record.
    pub record_kind: Field,
    /// Scopes.
    pub scope: Field,
    /// Tags.
    pub tags: Field,
    /// Language.
    pub language: Field,
    /// The place as it is, for globs.
    pub place: Field,
    /// Tails of the place ([`names::path_key`]).
    pub path_key: Field,
    /// Tails of the symbols ([`names::symbol_key`]).
    pub symbol_key: Field,
    /// Words of the place.
    pub path: Field,
    /// Words of the title.
    pub title: Field,
    /// Words of the symbols.
    pub symbol: Field,
    /// Words of the text.
    pub body: Field,
}

/// The schema and its fields.
pub fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let fields = Fields {
        id: builder.add_bytes_field("id", BytesOptions::default().set_indexed().set_fast()),
        project: builder.add_text_field("project", exact()),
        source: builder.add_text_field("source", exact()),
        record_kind: builder.add_text_field("record_kind", exact()),
        scope: builder.add_text_field("scope", exact()),
        tags: builder.add_text_field("tags", exact()),
        language: builder.add_text_field("language", exact()),
        place: builder.add_text_field("place", exact()),
        path_key: builder.add_text_field("path_key", exact()),
        symbol_key: builder.add_text_field("symbol_key", exact()),
        path: builder.add_text_field("path", analysed()),
        title: builder.add_text_field("title", analysed()),
        symbol: builder.add_text_field("symbol", analysed()),
        body: builder.add_text_field("body", analysed()),
    };
    (builder.build(), fields)
}

fn exact() -> TextOptions {
    TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_fieldnorms(false)
            .set_index_option(IndexRecordOption::Basic),
    )
}

/// No positions: no query asks for phrases, and they would double the index.
fn analysed() -> TextOptions {
    TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer(TOKENIZER_NAME)
            .set_index_option(IndexRecordOption::WithFreqs),
    )
}

impl Fields {
    /// The term that stands for one passage and no other.
    pub fn id_term(&self, id: mc_domain::PassageId) -> Term {
        Term::from_field_bytes(self.id, id.0.as_bytes())
    }

    /// The document of a passage.
    pub fn document(&self, passage: &IndexedPassage) -> TantivyDocument {
        let mut document = TantivyDocument::new();
        document.add_bytes(self.id, passage.id.0.as_bytes());
        document.add_text(self.project, passage.project.to_string());
        document.add_text(self.source, passage.source.as_str());
        document.add_text(self.record_kind, &passage.record_kind);
        document.add_text(self.language, &passage.language);
        document.add_text(self.place, &passage.place);
        document.add_text(self.path, &passage.place);
        document.add_text(self.title, &passage.title);
        document.add_text(self.body, &passage.text);
        passage.scope.iter().for_each(|scope| document.add_text(self.scope, scope));
        passage.tags.iter().for_each(|tag| document.add_text(self.tags, tag));
        if let Some(key) = names::path_key(&passage.place) {
            names::tails(&key, '/').for_each(|tail| document.add_text(self.path_key, tail));
        }
        for symbol in &passage.symbols {
            document.add_text(self.symbol, symbol);
            if let Some(key) = names::symbol_key(symbol) {
                names::tails(&key, '.').for_each(|tail| document.add_text(self.symbol_key, tail));
            }
        }
        document
    }
}
