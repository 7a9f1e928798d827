//! Nearest neighbors in PostgreSQL, for every active model.

use std::collections::HashMap;

use futures::future::join_all;
use mc_domain::{PassageId, ProjectId};
use mc_embed::{Purpose, is_multilingual};
use mc_sanitizer::Sanitized;
use mc_store::Store;
use mc_store::passages::PassageFilter;
use mc_store::vectors::{self, Model, ScanWidth, VectorPlacement};
use tokio::time::Instant;

use super::keyword::{self, FilterMatches};
use super::{Failure, RankedList, Retriever, until};
use crate::Error;
use crate::index::RefreshedIndex;
use crate::models::{ActiveModel, ActiveModels};

/// Texts of a query, whose mean vector is searched.
#[derive(Debug, Clone)]
pub struct VectorQuery {
    /// Texts of the query; empty if it has no words.
    pub texts: Vec<Sanitized>,
    /// English gloss for local models that are not known to support other languages.
    pub gloss: Option<Sanitized>,
}

impl VectorQuery {
    fn texts_for(&self, model: &ActiveModel) -> Vec<Sanitized> {
        match &self.gloss {
            Some(gloss) if !model.is_remote && !is_multilingual(&model.model.name) => {
                vec![gloss.clone()]
            }
            _ => self.texts.clone(),
        }
    }
}

/// Vector retriever of one project.
pub struct VectorRetriever<'a> {
    store: &'a Store,
    project: ProjectId,
    current: Model,
    models: Vec<ActiveModel>,
    width: ScanWidth,
    /// Note about a previous model whose provider can't be used.
    unavailable_previous: Option<String>,
}

/// Results of the vector retriever.
#[derive(Debug, Default)]
pub struct VectorHits {
    /// The nearest passages with their cosine similarity.
    pub list: RankedList,
    /// Notes about a model without results, for `degraded`.
    pub degraded: Vec<String>,
    /// Whether a model failed or was late.
    pub is_partial: bool,
}

impl<'a> VectorRetriever<'a> {
    /// Creates the retriever for the active models.
    pub fn new(store: &'a Store, models: &ActiveModels, project: ProjectId) -> Self {
        let current = models.current().model;
        let unavailable_previous = models.unavailable_previous();
        let note = unavailable_previous.map(|previous| without_previous(&previous.name, &current));
        Self {
            store,
            project,
            current,
            models: models.allowed(),
            width: ScanWidth::Wide,
            unavailable_previous: note,
        }
    }

    /// Returns the retriever with narrow scans, for lists of which only the beginning counts.
    #[must_use]
    pub fn narrow(self) -> Self {
        Self { width: ScanWidth::Narrow, ..self }
    }

    /// Returns whether a model is asked over the network.
    pub fn has_remote_model(&self) -> bool {
        self.models.iter().any(|model| model.is_remote)
    }

    /// Returns the nearest passages. A model that fails, or is late at `end`, is skipped and noted,
    /// unless no other model has results.
    ///
    /// In a large project, the keyword index finds the passages that match the filter faster than
    /// the database, which would read all of them.
    pub(crate) async fn search(
        &self,
        query: &VectorQuery,
        filter: &PassageFilter,
        limit: usize,
        index: &RefreshedIndex<'_>,
        end: Instant,
    ) -> Result<VectorHits, Failure> {
        if query.texts.is_empty() {
            return Ok(VectorHits::default());
        }
        let nearest = self.models.iter().map(|model| {
            until(end, self.nearest(model, query.texts_for(model), filter, limit, index))
        });
        self.merged(join_all(nearest).await, limit)
    }

    /// Merges the results of the models.
    fn merged(
        &self,
        outcomes: Vec<Result<RankedList, Failure>>,
        limit: usize,
    ) -> Result<VectorHits, Failure> {
        let (mut lists, mut failures) = (Vec::new(), Vec::new());
        for (active, outcome) in self.models.iter().zip(outcomes) {
            match outcome {
                Ok(list) => lists.push(list),
                Err(failure) => failures.push((&active.model, failure)),
            }
        }
        let is_partial = !failures.is_empty();
        if lists.is_empty() && is_partial {
            return Err(failures.swap_remove(0).1);
        }
        let failed = failures.iter().map(|(model, failure)| self.note(model, failure));
        let degraded = failed.chain(self.unavailable_previous.clone()).collect();
        Ok(VectorHits { list: merge(lists, limit), degraded, is_partial })
    }

    fn note(&self, model: &Model, failure: &Failure) -> String {
        let reason = failure.reason(Retriever::Vector);
        let is_of_model = !matches!(failure, Failure::Failed(Error::Store(_)));
        if is_of_model && model.id != self.current.id {
            return without_previous(&model.name, &self.current);
        }
        format!("{}: {reason}", Retriever::Vector.as_str())
    }

    async fn nearest(
        &self,
        active: &ActiveModel,
        texts: Vec<Sanitized>,
        filter: &PassageFilter,
        limit: usize,
        index: &RefreshedIndex<'_>,
    ) -> Result<RankedList, Error> {
        let ActiveModel { model, embedder, is_remote } = active;
        let purpose = Purpose::Query(self.project);
        let embedded = async { Ok::<_, Error>(embedder.embed(texts, purpose).await?) };
        let placement = async {
            self.store.start_shared_reads().await?;
            Ok(vectors::placement(self.store, model, filter).await?)
        };
        // A remote model is called first, so that no database connection is held meanwhile.
        let (embedded, placement) = if *is_remote {
            (embedded.await?, placement.await?)
        } else {
            tokio::try_join!(embedded, placement)?
        };
        let Some(query) = mean(embedded) else { return Ok(RankedList::new()) };
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let matches = match placement {
            VectorPlacement::Hnsw if !filter.is_plain() => self.matches(index, filter).await,
            _ => None,
        };
        let placement = match matches {
            Some(FilterMatches::Few(_)) if filter.is_of_vectors() => VectorPlacement::Flat,
            Some(FilterMatches::Few(ids)) => {
                return Ok(vectors::nearest_of(self.store, model, &query, &ids, limit).await?);
            }
            Some(FilterMatches::Many) => VectorPlacement::HnswOfMany,
            None => placement,
        };
        let (store, width) = (self.store, self.width);
        Ok(vectors::nearest_in(store, model, &query, filter, limit, placement, width).await?)
    }

    /// Returns the passages that match the filter; `None` if the index is not up to date or fails,
    /// which the keyword retriever reports.
    async fn matches(
        &self,
        index: &RefreshedIndex<'_>,
        filter: &PassageFilter,
    ) -> Option<FilterMatches> {
        let snapshot = index.snapshot().await?;
        let (filter, reader) = (filter.clone(), self.store.principal());
        let lookup = move || {
            let searcher = snapshot.reader.searcher();
            let max = keyword::few(&searcher, &snapshot.fields, &filter)?;
            keyword::matches(&searcher, &snapshot.fields, &filter, reader, max)
        };
        mc_processor_time::spawn_blocking(lookup).await.ok()?.ok()
    }
}

/// Returns the note that the vectors of the previous model can't be searched.
fn without_previous(previous: &str, current: &Model) -> String {
    let (vector, current) = (Retriever::Vector.as_str(), &current.name);
    format!(
        "{vector}: the previous embedding model {previous} is unavailable; passages without a \
         vector of {current} yet are found by words only (`memory-copilot doctor` says why)"
    )
}

/// Returns the normalized mean of vectors of unit length; `None` without vectors.
fn mean(vectors: Vec<Vec<f32>>) -> Option<Vec<f32>> {
    let sum = vectors.into_iter().reduce(|mut sum, vector| {
        sum.iter_mut().zip(vector).for_each(|(sum, value)| *sum += value);
        sum
    })?;
    let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt();
    Some(sum.into_iter().map(|value| value / length.max(f32::EPSILON)).collect())
}

/// Merges the lists of several models by rank, because similarities of different models are not
/// comparable. A passage keeps the similarity of the first list that has it.
fn merge(lists: Vec<RankedList>, limit: usize) -> RankedList {
    let mut best: HashMap<PassageId, (usize, usize, f32)> = HashMap::new();
    for (list_index, list) in lists.into_iter().enumerate() {
        for (rank, (id, similarity)) in list.into_iter().enumerate() {
            let entry = best.entry(id).or_insert((rank, list_index, similarity));
            entry.0 = entry.0.min(rank);
        }
    }
    let mut merged: Vec<_> = best.into_iter().collect();
    merged.sort_by_key(|(id, (rank, list_index, _))| (*rank, *list_index, *id));
    merged.truncate(limit);
    merged.into_iter().map(|(id, (_, _, similarity))| (id, similarity)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_of_the_previous_and_current_model_merge() {
        let [shared, old, new] = [1, 2, 3].map(|n| PassageId(uuid::Uuid::from_u128(n)));
        let current = vec![(new, 0.7), (shared, 0.6)];
        let previous = vec![(shared, 0.9), (old, 0.8)];
        let merged = merge(vec![current, previous], 10);
        assert_eq!(merged, [(shared, 0.6), (new, 0.7), (old, 0.8)]);
    }

    #[test]
    fn one_model_keeps_its_order() {
        let list: RankedList = (1..=5_u8)
            .map(|n| (PassageId(uuid::Uuid::from_u128(n.into())), 1.0 / f32::from(n)))
            .collect();
        assert_eq!(merge(vec![list.clone()], 3), list[..3]);
    }
}
