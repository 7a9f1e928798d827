//! What BM25 needs to know of a project as a whole: how many passages it has and how long they are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use mc_domain::ProjectId;
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocSet, Searcher, TERMINATED, TantivyError, Term};

use super::schema::Fields;

/// The average length is counted anew when so large a part of the passages has come or gone.
const RECOUNT_SHARE: u64 = 16;

/// The sizes of projects as they were last counted; cheap to clone.
#[derive(Clone, Default)]
pub struct Statistics(Arc<Mutex<HashMap<ProjectId, Size>>>);

#[derive(Clone, Copy)]
struct Size {
    docs: u64,
    /// Terms in each of [`Fields::words`].
    tokens: [u64; 3],
}

/// A project among the others of an index.
pub struct ProjectStatistics<'a> {
    searcher: &'a Searcher,
    fields: [Field; 3],
    size: Size,
}

impl Statistics {
    /// Those of one project.
    pub fn of<'a>(
        &self,
        searcher: &'a Searcher,
        fields: &Fields,
        project: ProjectId,
    ) -> Result<ProjectStatistics<'a>, TantivyError> {
        let term = fields.project_term(project);
        let docs = searcher.doc_freq(&term)?;
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&project).copied();
        let size = match known {
            Some(known) if known.docs.abs_diff(docs) <= docs / RECOUNT_SHARE => {
                // The average stays; the sum is made to fit the passages that there are now.
                let fit = |tokens: u64| tokens * docs / known.docs.max(1);
                Size { docs, tokens: known.tokens.map(fit) }
            }
            _ => {
                let size = Size { docs, tokens: tokens(searcher, fields, &term)? };
                self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(project, size);
                size
            }
        };
        Ok(ProjectStatistics { searcher, fields: fields.words(), size })
    }
}

impl ProjectStatistics<'_> {
    /// Passages of the project.
    pub fn docs(&self) -> u64 {
        self.size.docs
    }
}

/// Adds up the lengths of a project's passages.
fn tokens(searcher: &Searcher, fields: &Fields, project: &Term) -> Result<[u64; 3], TantivyError> {
    let mut sums = [0; 3];
    for segment in searcher.segment_readers() {
        let index = segment.inverted_index(fields.project)?;
        let Some(mut passages) = index.read_postings(project, IndexRecordOption::Basic)? else {
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
        // Each term is one project's own.
        self.searcher.doc_freq(term)
    }
}
