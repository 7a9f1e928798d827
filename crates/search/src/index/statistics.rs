//! BM25 statistics of each project: the number of passages and their length.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use mc_domain::ProjectId;
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocSet, Searcher, TERMINATED, TantivyError, Term};

use super::schema::{Corpus, Fields};

/// Minimum number of records that is assumed, because among few records every word would be common.
const RECORDS_MIN: u64 = 50;
/// Divisor of the number of passages: lengths are counted again after so many changes.
const RECOUNT_SHARE: u64 = 16;

/// Cached sizes of projects; cheap to clone.
#[derive(Clone, Default)]
pub struct Statistics(Arc<Mutex<HashMap<(ProjectId, Corpus), Size>>>);

#[derive(Clone, Copy)]
struct Size {
    docs: u64,
    /// Number of terms in each of [`Fields::words`].
    tokens: [u64; 5],
}

impl Size {
    /// Returns the size for this number of texts, with the same average length.
    fn scaled_to(self, docs: u64) -> Self {
        let scale = |tokens: u64| tokens * docs / self.docs.max(1);
        Self { docs, tokens: self.tokens.map(scale) }
    }
}

/// Statistics of one corpus of a project.
pub struct ProjectStatistics<'a> {
    searcher: &'a Searcher,
    fields: [Field; 5],
    size: Size,
}

impl Statistics {
    /// Returns the statistics of one corpus of a project.
    pub fn of_corpus<'a>(
        &self,
        searcher: &'a Searcher,
        fields: &Fields,
        project: ProjectId,
        corpus: Corpus,
    ) -> Result<ProjectStatistics<'a>, TantivyError> {
        let term = fields.corpus_term(project, corpus);
        let docs = searcher.doc_freq(&term)?;
        let key = (project, corpus);
        let cached = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).copied();
        let size = match cached {
            Some(cached) if cached.docs.abs_diff(docs) <= docs / RECOUNT_SHARE => {
                cached.scaled_to(docs)
            }
            _ => {
                let size = Size { docs, tokens: tokens(searcher, fields, &term)? };
                self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, size);
                size
            }
        };
        let is_small = corpus == Corpus::Records && size.docs < RECORDS_MIN;
        let size = if is_small { size.scaled_to(RECORDS_MIN) } else { size };
        Ok(ProjectStatistics { searcher, fields: fields.words(), size })
    }
}

impl ProjectStatistics<'_> {
    /// Returns the number of passages of the corpus.
    pub fn docs(&self) -> u64 {
        self.size.docs
    }

    /// Returns the inverse document frequency of a term, as BM25 defines it.
    pub fn idf(&self, term: &Term) -> Result<f32, TantivyError> {
        let (docs, frequency) = (self.size.docs as f32, self.searcher.doc_freq(term)? as f32);
        Ok((1.0 + ((docs - frequency).max(0.0) + 0.5) / (frequency + 0.5)).ln())
    }
}

/// Returns the total length of each field of a corpus.
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
        let words = self.fields.iter().position(|words| *words == field);
        // Names and filters have no lengths; their clauses have constant scores.
        Ok(words.map_or(self.size.docs, |index| self.size.tokens[index]))
    }

    fn total_num_docs(&self) -> Result<u64, TantivyError> {
        Ok(self.size.docs)
    }

    fn doc_freq(&self, term: &Term) -> Result<u64, TantivyError> {
        // A term belongs to one project. Terms of names and filters count passages of all corpora,
        // but their clauses have constant scores.
        Ok(self.searcher.doc_freq(term)?.min(self.size.docs))
    }
}
