//! Fields of the keyword index, and the document of a passage.
//!
//! Terms separate the projects: every term of words, names and filters begins with a project id. A
//! search therefore walks terms and reads postings of its own project only. Neither the rarity of a
//! word nor the cost of a filter depends on other projects. The one exception is [`Fields::id`],
//! which no search looks up. `retrievers/keyword.rs` has the BM25 weight of each field.

mod term_list;

use mc_domain::{PassageId, ProjectId, SourceKind};
use mc_store::passages::IndexedPassage;
use tantivy::schema::{
    BytesOptions, Field, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::{TantivyDocument, Term};

use crate::analyzer::{Lexeme, analyze};
use crate::names;

pub use term_list::register as register_tokenizer;

/// Version of the schema, the analyzer and the lookup spellings. Other versions are rebuilt.
pub const FORMAT: u32 = 8;

/// Fields of the keyword index.
#[derive(Debug, Clone, Copy)]
pub struct Fields {
    /// Passage id, 16 bytes, for deletion. Without the project: a deletion knows only the id.
    pub id: Field,
    /// Halves of the id, the only values of a hit that a search reads.
    pub id_halves: (Field, Field),
    /// Project only: one term for all passages, and another for all commits ([`Corpus`]). This
    /// field and the following filters have one term for each value.
    pub project: Field,
    /// Project of a passage that only one user may find.
    pub hidden: Field,
    /// The only user who may find the passage.
    pub private_to: Field,
    /// Source kind of the passage.
    pub source: Field,
    /// Kind of memory record.
    pub record_kind: Field,
    /// Parts of the system that it is about.
    pub scope: Field,
    /// Free labels.
    pub tags: Field,
    /// Repository of the code, the document or the commit.
    pub repository: Field,
    /// Language of the code or text.
    pub language: Field,
    /// Unmodified location, for globs.
    pub location: Field,
    /// Suffixes of the location ([`names::path_key`]).
    pub path_key: Field,
    /// Suffixes of the symbols ([`names::symbol_key`]).
    pub symbol_key: Field,
    /// Words of the location. BM25 weight: `PATH_WEIGHT`.
    pub path: Field,
    /// Words of the text. BM25 weight: `BODY_WEIGHT`.
    pub body: Field,
    /// Words of the text with its location, title and context. BM25 weight: `WINDOW_WEIGHT`.
    pub window: Field,
    /// Words of a memory record with its title, steps, tags, and cited locations and symbols. Only
    /// records have this field, so it gives the rarity of a word among records.
    pub record: Field,
    /// Words of a commit message. They are in no other field, so that the history of a repository
    /// does not affect the statistics of code and notes.
    pub change: Field,
}

/// Returns the tantivy schema and the handles of its fields.
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
        repository: builder.add_text_field("repository", exact()),
        language: builder.add_text_field("language", exact()),
        location: builder.add_text_field("place", exact()),
        path_key: builder.add_text_field("path_key", exact()),
        symbol_key: builder.add_text_field("symbol_key", exact()),
        path: builder.add_text_field("path", words()),
        body: builder.add_text_field("body", words()),
        window: builder.add_text_field("window", words()),
        record: builder.add_text_field("record", words()),
        change: builder.add_text_field("change", words()),
    };
    (builder.build(), fields)
}

/// Column of the upper half of the passage id.
pub const ID_HIGH: &str = "id_high";
/// Column of the lower half of the passage id.
pub const ID_LOW: &str = "id_low";

fn exact() -> TextOptions {
    TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_fieldnorms(false)
            .set_index_option(IndexRecordOption::Basic),
    )
}

/// Returns the options of a field of words. Positions are not indexed: no query has phrases, and
/// they would double the size of the index. The terms come from the analyzer.
fn words() -> TextOptions {
    TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer(term_list::TOKENIZER)
            .set_index_option(IndexRecordOption::WithFreqs),
    )
}

/// Set of texts of a project with its own statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Corpus {
    /// Memory, dialogs, documents and code.
    Passages,
    /// Memory records, which are also passages.
    Records,
    /// Commits of the project's repositories.
    Changes,
}

impl Corpus {
    fn of_source(source: SourceKind) -> Self {
        match source {
            SourceKind::Change => Self::Changes,
            SourceKind::Memory | SourceKind::Dialog | SourceKind::Doc | SourceKind::Code => {
                Self::Passages
            }
        }
    }

    /// Returns the value of [`Fields::project`].
    fn marker(self) -> &'static str {
        match self {
            Self::Passages | Self::Records => "",
            Self::Changes => "changes",
        }
    }
}

/// Prefix of the terms of a project: the digits of its id. All prefixes have the same length, so no
/// prefix starts with another one.
pub struct Scope(String);

impl Scope {
    /// Creates the prefix of a project.
    pub fn of(project: ProjectId) -> Self {
        Self(project.0.simple().to_string())
    }

    /// Returns the project's term for a word, a name or the value of a filter.
    pub fn term(&self, field: Field, value: &str) -> Term {
        Term::from_field_text(field, &self.prefixed(value))
    }

    /// Returns the regular expression for the project's terms whose values match `regex`. tantivy
    /// leaves a branch of its dictionary at the first byte that does not match, so the prefix
    /// restricts the walk to the project's terms.
    pub fn regex(&self, regex: &str) -> String {
        // The digits of an id need no escaping.
        format!("{}(?:{regex})", self.0)
    }

    /// Returns a value with the prefix.
    fn prefixed(&self, value: &str) -> String {
        [self.0.as_str(), value].concat()
    }

    /// Returns the value of a field of words.
    fn words<'a>(&self, lexemes: impl IntoIterator<Item = &'a Lexeme>) -> String {
        term_list::join(&self.0, lexemes.into_iter().map(|lexeme| lexeme.text.as_str()))
    }
}

impl Fields {
    /// Returns the fields that keyword queries score.
    pub fn words(&self) -> [Field; 5] {
        [self.body, self.window, self.path, self.record, self.change]
    }

    /// Returns the unique term of a passage.
    pub fn id_term(&self, id: PassageId) -> Term {
        Term::from_field_bytes(self.id, id.0.as_bytes())
    }

    /// Returns the term that all texts of a corpus have.
    pub fn corpus_term(&self, project: ProjectId, corpus: Corpus) -> Term {
        let scope = Scope::of(project);
        match corpus {
            Corpus::Passages | Corpus::Changes => scope.term(self.project, corpus.marker()),
            Corpus::Records => scope.term(self.source, SourceKind::Memory.as_str()),
        }
    }

    /// Creates the document of a passage.
    pub fn document(&self, passage: &IndexedPassage) -> TantivyDocument {
        let scope = Scope::of(passage.project);
        let mut document = TantivyDocument::new();
        document.add_bytes(self.id, passage.id.0.as_bytes());
        let (high, low) = passage.id.0.as_u64_pair();
        document.add_u64(self.id_halves.0, high);
        document.add_u64(self.id_halves.1, low);
        let mut add = |field: Field, value: &str| document.add_text(field, scope.prefixed(value));
        let corpus = Corpus::of_source(passage.source);
        add(self.project, corpus.marker());
        if let Some(repository) = passage.repository {
            add(self.repository, &repository.to_string());
        }
        if corpus == Corpus::Changes {
            add(self.source, passage.source.as_str());
            let text = analyze(&passage.text);
            document.add_text(self.change, scope.words(&text));
            return document;
        }
        if let Some(owner) = passage.private_to {
            add(self.hidden, "");
            add(self.private_to, &owner.to_string());
        }
        add(self.source, passage.source.as_str());
        add(self.record_kind, &passage.record_kind);
        add(self.language, &passage.language);
        add(self.location, &passage.location);
        passage.scope.iter().for_each(|scope| add(self.scope, scope));
        passage.tags.iter().for_each(|tag| add(self.tags, tag));
        if let Some(key) = names::path_key(&passage.location) {
            names::suffixes(&key, '/').for_each(|suffix| add(self.path_key, suffix));
        }
        for symbol in &passage.symbols {
            if let Some(key) = names::symbol_key(symbol) {
                names::suffixes(&key, '.').for_each(|suffix| add(self.symbol_key, suffix));
            }
        }
        self.add_words(&mut document, &scope, passage);
        document
    }

    fn add_words(&self, document: &mut TantivyDocument, scope: &Scope, passage: &IndexedPassage) {
        let [location, title, context, text] =
            [&passage.location, &passage.title, &passage.context, &passage.text]
                .map(|s| analyze(s));
        document.add_text(self.path, scope.words(&location));
        document.add_text(self.body, scope.words(&text));
        let window = location.iter().chain(&title).chain(&context).chain(&text);
        document.add_text(self.window, scope.words(window));
        if passage.source == SourceKind::Memory {
            let names: Vec<_> = passage
                .tags
                .iter()
                .chain(&passage.symbols)
                .flat_map(|name| analyze(name))
                .collect();
            let record = title.iter().chain(&context).chain(&text).chain(&location).chain(&names);
            document.add_text(self.record, scope.words(record));
        }
    }
}

#[cfg(test)]
mod tests;
