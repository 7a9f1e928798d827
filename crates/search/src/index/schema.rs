//! The fields of the keyword index, and how a passage becomes a document.
//!
//! Words are kept apart by project: each term begins with the id of its project. A search therefore
//! reads the postings of its own project only, however many others there are, and how rare a word is
//! does not depend on what strangers wrote.

use mc_domain::{PassageId, ProjectId};
use mc_store::passages::IndexedPassage;
use tantivy::schema::{
    BytesOptions, Field, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{PreTokenizedString, Token};
use tantivy::{TantivyDocument, Term};

use crate::analyser::{Lexeme, analyse};
use crate::names;

/// Raised with every change of the schema, the analyser or the look-up spellings: an index of
/// another format is built anew.
pub const FORMAT: u32 = 4;

/// The fields by name.
#[derive(Debug, Clone, Copy)]
pub struct Fields {
    /// The passage's id, 16 bytes, to delete by.
    pub id: Field,
    /// The id's halves: all that a search reads of a hit.
    pub id_halves: (Field, Field),
    /// Filters, each value one term.
    pub project: Field,
    /// The project, of passages that only one user may find.
    pub hidden: Field,
    /// Who alone may find it.
    pub private_to: Field,
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
    /// Words of the text.
    pub body: Field,
    /// Words of the text and of what it is read with: place, title and context.
    pub window: Field,
}

/// The schema and its fields.
pub fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let half = || NumericOptions::default().set_fast();
    let fields = Fields {
        id: builder.add_bytes_field("id", BytesOptions::default().set_indexed()),
        id_halves: (builder.add_u64_field(ID_HIGH, half()), builder.add_u64_field(ID_LOW, half())),
        project: builder.add_text_field("project", exact()),
        hidden: builder.add_text_field("hidden", exact()),
        private_to: builder.add_text_field("private_to", exact()),
        source: builder.add_text_field("source", exact()),
        record_kind: builder.add_text_field("record_kind", exact()),
        scope: builder.add_text_field("scope", exact()),
        tags: builder.add_text_field("tags", exact()),
        language: builder.add_text_field("language", exact()),
        place: builder.add_text_field("place", exact()),
        path_key: builder.add_text_field("path_key", exact()),
        symbol_key: builder.add_text_field("symbol_key", exact()),
        path: builder.add_text_field("path", words()),
        body: builder.add_text_field("body", words()),
        window: builder.add_text_field("window", words()),
    };
    (builder.build(), fields)
}

/// Names of the columns that hold the id's halves.
pub const ID_HIGH: &str = "id_high";
/// See [`ID_HIGH`].
pub const ID_LOW: &str = "id_low";

fn exact() -> TextOptions {
    TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_fieldnorms(false)
            .set_index_option(IndexRecordOption::Basic),
    )
}

/// No positions: no query asks for phrases, and they would double the index. The tokenizer has
/// nothing to do: text comes as terms already.
fn words() -> TextOptions {
    TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_index_option(IndexRecordOption::WithFreqs),
    )
}

/// What stands before the terms of a project.
pub struct Scope(String);

impl Scope {
    /// That of a project.
    pub fn of(project: ProjectId) -> Self {
        Self(project.0.simple().to_string())
    }

    /// The project's own term for a word.
    pub fn term(&self, field: Field, word: &str) -> Term {
        Term::from_field_text(field, &[&self.0, word].concat())
    }

    fn tokens<'a>(&self, lexemes: impl IntoIterator<Item = &'a Lexeme>) -> PreTokenizedString {
        // Positions are not indexed, but tantivy adds to them, and a token's default is the last one.
        let token = |lexeme: &Lexeme| Token {
            text: [&self.0, lexeme.text.as_str()].concat(),
            position: 0,
            ..Token::default()
        };
        PreTokenizedString { text: String::new(), tokens: lexemes.into_iter().map(token).collect() }
    }
}

impl Fields {
    /// The fields of words.
    pub fn words(&self) -> [Field; 3] {
        [self.body, self.window, self.path]
    }

    /// The term that stands for one passage and no other.
    pub fn id_term(&self, id: PassageId) -> Term {
        Term::from_field_bytes(self.id, id.0.as_bytes())
    }

    /// The term that every passage of a project has.
    pub fn project_term(&self, project: ProjectId) -> Term {
        Term::from_field_text(self.project, &project.to_string())
    }

    /// The document of a passage.
    pub fn document(&self, passage: &IndexedPassage) -> TantivyDocument {
        let mut document = TantivyDocument::new();
        document.add_bytes(self.id, passage.id.0.as_bytes());
        let (high, low) = passage.id.0.as_u64_pair();
        document.add_u64(self.id_halves.0, high);
        document.add_u64(self.id_halves.1, low);
        document.add_text(self.project, passage.project.to_string());
        if let Some(owner) = passage.private_to {
            document.add_text(self.hidden, passage.project.to_string());
            document.add_text(self.private_to, owner.to_string());
        }
        document.add_text(self.source, passage.source.as_str());
        document.add_text(self.record_kind, &passage.record_kind);
        document.add_text(self.language, &passage.language);
        document.add_text(self.place, &passage.place);
        passage.scope.iter().for_each(|scope| document.add_text(self.scope, scope));
        passage.tags.iter().for_each(|tag| document.add_text(self.tags, tag));
        if let Some(key) = names::path_key(&passage.place) {
            names::tails(&key, '/').for_each(|tail| document.add_text(self.path_key, tail));
        }
        for symbol in &passage.symbols {
            if let Some(key) = names::symbol_key(symbol) {
                names::tails(&key, '.').for_each(|tail| document.add_text(self.symbol_key, tail));
            }
        }
        self.add_words(&mut document, passage);
        document
    }

    fn add_words(&self, document: &mut TantivyDocument, passage: &IndexedPassage) {
        let scope = Scope::of(passage.project);
        let [place, title, context, text] =
            [&passage.place, &passage.title, &passage.context, &passage.text].map(|s| analyse(s));
        document.add_pre_tokenized_text(self.path, scope.tokens(&place));
        document.add_pre_tokenized_text(self.body, scope.tokens(&text));
        let window = place.iter().chain(&title).chain(&context).chain(&text);
        document.add_pre_tokenized_text(self.window, scope.tokens(window));
    }
}
