//! What BM25 needs to know of a project as a whole: how many passages it has and how long they are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use mc_domain::ProjectId;
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocSet, Searcher, TERMINATED, TantivyError, Term};

use super::schema::{Corpus, Fields};

/// Records that a project is taken to have at least: among a few, every word would count as common.
const RECORDS_MIN: u64 = 50;
/// The average length is counted anew when so large a part of the passages has come or gone.
const RECOUNT_SHARE: u64 = 16;

/// The sizes of projects as they were last counted; cheap to clone.
#[derive(Clone, Default)]
pub struct Statistics(Arc<Mutex<HashMap<(ProjectId, Corpus), Size>>>);

#[derive(Clone, Copy)]
struct Size {
    docs: u64,
    /// Terms in each of [`Fields::words`].
    tokens: [u64; 5],
}

impl Size {
    /// The same, as if there were at least so many texts of the same length.
    fn at_least(self, docs: u64) -> Self {
        if self.docs >= docs {
            return self;
        }
        let fit = |tokens: u64| tokens * docs / self.docs.max(1);
        Self { docs, tokens: self.tokens.map(fit) }
    }
}

/// A corpus of a project among the others of an index.
pub struct ProjectStatistics<'a> {
    searcher: &'a Searcher,
    fields: [Field; 5],
    size: Size,
}

impl Statistics {
    /// Those of one corpus of a project.
    pub fn of<'a>(
        &self,
        searcher: &'a Searcher,
        fields: &Fields,
        project: ProjectId,
        corpus: Corpus,
    ) -> Result<ProjectStatistics<'a>, TantivyError> {
        let term = fields.corpus_term(project, corpus);
        let docs = searcher.doc_freq(&term)?;
        let key = (project, corpus);
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).copied();
        let size = match known {
            Some(known) if known.docs.abs_diff(docs) <= docs / RECOUNT_SHARE => {
                // The average stays; the sum is made to fit the passages that there are now.
                let fit = |tokens: u64| tokens * docs / known.docs.max(1);
                Size { docs, tokens: known.tokens.map(fit) }
            }
            _ => {
                let size = Size { docs, tokens: tokens(searcher, fields, &term)? };
                self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, size);
                size
            }
        };
        let size = if corpus == Corpus::Records { size.at_least(RECORDS_MIN) } else { size };
        Ok(ProjectStatistics { searcher, fields: fields.words(), size })
    }
}

impl ProjectStatistics<'_> {
    /// Passages of the corpus.
    pub fn docs(&self) -> u64 {
        self.size.docs
    }

    /// How rare a term is, as BM25 weighs it.
    pub fn idf(&self, term: &Term) -> Result<f32, TantivyError> {
        let (all, with) = (self.size.docs as f32, self.searcher.doc_freq(term)? as f32);
        Ok((1.0 + ((all - with).max(0.0) + 0.5) / (with + 0.5)).ln())
    }
}

/// Adds up the lengths of a corpus.
fn tokens(searcher: &Searcher, fields: &Fields, corpus: &Term) -> Result<[u64; 5], TantivyError> {
    let mut sums = [0; 5];
    for segment in searcher.segment_readers() {
        let index = segment.inverted_index(corpus.field())?;
        let Some(mut passages) = index.read_postings(corpus, IndexRecordOption::Basic)? else {
            continue;
        };
        let lengths = fields.words().map(|field| segment.get_fieldnorms_reader(field));
        while passages.doc() != TERMINATED {
            for (sum, lengths) in sums.iter_mut().zip(&lengths) {
                let lengths = lengths.as_ref().map_err(Clone::clone)?;
                *sum += u64::from(lengths.fieldnorm(passages.doc()));
            }
            passages.advance();
        }
    }
    Ok(sums)
}

impl Bm25StatisticsProvider for ProjectStatistics<'_> {
    fn total_num_tokens(&self, field: Field) -> Result<u64, TantivyError> {
        let words = self.fields.iter().position(|known| *known == field);
        // Names and filters have no lengths, and score what their clause says.
        Ok(words.map_or(self.size.docs, |at| self.size.tokens[at]))
    }

    fn total_num_docs(&self) -> Result<u64, TantivyError> {
        Ok(self.size.docs)
    }

    fn doc_freq(&self, term: &Term) -> Result<u64, TantivyError> {
        // Each term is one project's own. Names and filters count passages of any corpus, and score
        // what their clause says.
        Ok(self.searcher.doc_freq(term)?.min(self.size.docs))
    }
}
