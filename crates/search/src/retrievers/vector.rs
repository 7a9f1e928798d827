//! Nearest neighbours in PostgreSQL, under every model that answers.

use std::collections::HashMap;

use futures::future::try_join_all;
use mc_domain::{PassageId, ProjectId};
use mc_embed::Purpose;
use mc_sanitizer::Sanitized;
use mc_store::Store;
use mc_store::passages::PassageFilter;
use mc_store::vectors::{self, VectorPlacement};

use super::RankedList;
use super::keyword::{self, Passing};
use crate::Error;
use crate::index::UpToDate;
use crate::models::{ActiveModel, ActiveModels};

/// What is sought by its meaning: the mean of the texts.
#[derive(Debug, Clone)]
pub struct Sought {
    /// The question, as it was put; empty where it has no words.
    pub texts: Vec<Sanitized>,
    /// What it says in English, for the models of this machine, which know no other language.
    pub gloss: Option<Sanitized>,
}

impl Sought {
    fn by(&self, model: &ActiveModel) -> Vec<Sanitized> {
        match &self.gloss {
            Some(gloss) if !model.is_remote => vec![gloss.clone()],
            _ => self.texts.clone(),
        }
    }
}

/// The retriever over one project.
pub struct VectorRetriever<'a> {
    store: &'a Store,
    project: ProjectId,
    models: Vec<ActiveModel>,
}

impl<'a> VectorRetriever<'a> {
    /// The retriever under the models that answer now.
    pub fn new(store: &'a Store, models: &ActiveModels, project: ProjectId) -> Self {
        Self { store, project, models: models.all() }
    }

    /// The passages nearest in meaning, with their cosine similarity. What the filter lets through
    /// among the many of a large project, the keyword index knows sooner than the database, which
    /// has to read them all.
    pub async fn search(
        &self,
        sought: &Sought,
        filter: &PassageFilter,
        limit: usize,
        index: &UpToDate<'_>,
    ) -> Result<RankedList, Error> {
        if sought.texts.is_empty() {
            return Ok(RankedList::new());
        }
        let nearest = self
            .models
            .iter()
            .map(|model| self.nearest(model, sought.by(model), filter, limit, index));
        Ok(merge(try_join_all(nearest).await?, limit))
    }

    async fn nearest(
        &self,
        active: &ActiveModel,
        texts: Vec<Sanitized>,
        filter: &PassageFilter,
        limit: usize,
        index: &UpToDate<'_>,
    ) -> Result<RankedList, Error> {
        let ActiveModel { model, embedder, is_remote } = active;
        let purpose = Purpose::Query(self.project);
        let embedded = async { Ok::<_, Error>(embedder.embed(texts, purpose).await?) };
        let looked_up = async {
            self.store.start_shared_reads().await?;
            Ok(vectors::placement(self.store, model, filter).await?)
        };
        // A visit would keep its connection for as long as another machine takes.
        let (embedded, extent) = if *is_remote {
            (embedded.await?, looked_up.await?)
        } else {
            tokio::try_join!(embedded, looked_up)?
        };
        let Some(query) = mean(embedded) else { return Ok(RankedList::new()) };
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let passing = match extent {
            VectorPlacement::Hnsw if !filter.is_plain() => self.passing(index, filter).await,
            _ => None,
        };
        let extent = match passing {
            Some(Passing::Few(ids)) => {
                return Ok(vectors::nearest_of(self.store, model, &query, &ids, limit).await?);
            }
            Some(Passing::Many) => VectorPlacement::HnswOfMany,
            None => extent,
        };
        Ok(vectors::nearest_in(self.store, model, &query, filter, limit, extent).await?)
    }

    /// What the filter lets through, if there is an index to tell; why it can't, the keyword
    /// retriever reports.
    async fn passing(&self, index: &UpToDate<'_>, filter: &PassageFilter) -> Option<Passing> {
        let view = index.view().await?;
        let (filter, reader) = (filter.clone(), self.store.principal());
        let look_up = move || {
            let searcher = view.reader.searcher();
            let most = keyword::few(&searcher, &view.fields, &filter)?;
            keyword::passing(&searcher, &view.fields, &filter, reader, most)
        };
        tokio::task::spawn_blocking(look_up).await.ok()?.ok()
    }
}

/// The direction between several of unit length; `None` of none.
fn mean(vectors: Vec<Vec<f32>>) -> Option<Vec<f32>> {
    let sum = vectors.into_iter().reduce(|mut sum, vector| {
        sum.iter_mut().zip(vector).for_each(|(sum, value)| *sum += value);
        sum
    })?;
    let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt();
    Some(sum.into_iter().map(|value| value / length.max(f32::EPSILON)).collect())
}

/// Merges lists of several models by rank, for similarities of different models don't compare. A
/// passage keeps the similarity under the first list that has it.
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
        let [both, old, new] = [1, 2, 3].map(|n| PassageId(uuid::Uuid::from_u128(n)));
        let current = vec![(new, 0.7), (both, 0.6)];
        let previous = vec![(both, 0.9), (old, 0.8)];
        let merged = merge(vec![current, previous], 10);
        assert_eq!(merged, [(both, 0.6), (new, 0.7), (old, 0.8)]);
    }

    #[test]
    fn one_model_keeps_its_order() {
        let list: RankedList = (1..=5_u8)
            .map(|n| (PassageId(uuid::Uuid::from_u128(n.into())), 1.0 / f32::from(n)))
            .collect();
        assert_eq!(merge(vec![list.clone()], 3), list[..3]);
    }
}
