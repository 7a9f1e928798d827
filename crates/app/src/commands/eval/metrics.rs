//! The metrics of an evaluation.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};

/// Number of results that MRR and nDCG count.
const DEPTH: usize = 10;

/// The scores of the queries of a set.
#[derive(Debug, Default)]
pub struct Scores {
    figures: Vec<Figures>,
    latencies: Vec<Duration>,
    /// Queries whose response lacks a skipped step.
    pub degraded: usize,
}

/// recall@5, recall@10, MRR@10 and nDCG@10.
pub type Figures = [f64; 4];

/// The averages over the queries of a set.
#[derive(Debug, Clone)]
pub struct Summary {
    pub name: String,
    queries: usize,
    pub figures: Figures,
    p50: f64,
    p95: f64,
    degraded: usize,
}

impl Scores {
    /// Adds a query: ids in ranking order, and the grade of each relevant id.
    pub fn add(&mut self, ranked: &[String], relevant: &HashMap<String, f64>, latency: Duration) {
        self.figures.push([
            recall(ranked, relevant, 5),
            recall(ranked, relevant, 10),
            reciprocal_rank(ranked, relevant),
            ndcg(ranked, relevant),
        ]);
        self.latencies.push(latency);
    }

    pub fn summary(mut self, name: &str) -> Summary {
        self.latencies.sort();
        let percentile = |share: f64| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to len")]
            let rank = (share * self.latencies.len() as f64).ceil() as usize;
            self.latencies.get(rank.saturating_sub(1)).map_or(0.0, |d| d.as_secs_f64() * 1000.0)
        };
        Summary {
            name: name.to_owned(),
            queries: self.figures.len(),
            figures: mean(&self.figures),
            p50: percentile(0.50),
            p95: percentile(0.95),
            degraded: self.degraded,
        }
    }
}

impl Summary {
    pub fn row(&self) -> Vec<String> {
        let mut row = vec![self.name.clone(), self.queries.to_string()];
        row.extend(self.figures.iter().map(|figure| format!("{figure:.3}")));
        row.extend([self.p50, self.p95].map(|ms| format!("{ms:.1}")));
        row.push(self.degraded.to_string());
        row
    }

    pub fn to_json(&self) -> Value {
        let mut value = figures_json(self.figures);
        value["set"] = json!(self.name);
        value["queries"] = json!(self.queries);
        value["latency_ms"] = json!({ "p50": self.p50, "p95": self.p95 });
        value["degraded"] = json!(self.degraded);
        value
    }
}

/// Returns the averages over sets, each with the same weight, as JSON.
pub fn macro_average(summaries: &[Summary]) -> Value {
    figures_json(averages(summaries))
}

/// Formats the averages as the last row of the table.
pub fn average_row(summaries: &[Summary]) -> Vec<String> {
    let queries: usize = summaries.iter().map(|s| s.queries).sum();
    let mut row = vec!["macro average".to_owned(), queries.to_string()];
    row.extend(averages(summaries).iter().map(|figure| format!("{figure:.3}")));
    row.extend(["", "", ""].map(String::from));
    row
}

/// Returns the averages over sets.
pub fn averages(summaries: &[Summary]) -> Figures {
    mean(&summaries.iter().map(|summary| summary.figures).collect::<Vec<_>>())
}

fn figures_json([recall_5, recall_10, mrr, ndcg]: Figures) -> Value {
    json!({ "recall@5": recall_5, "recall@10": recall_10, "mrr@10": mrr, "ndcg@10": ndcg })
}

fn mean(rows: &[Figures]) -> Figures {
    let count = rows.len().max(1) as f64;
    [0, 1, 2, 3].map(|column| rows.iter().map(|row| row[column]).sum::<f64>() / count)
}

/// Returns the share of the relevant ids that are among the first `depth` results.
fn recall(ranked: &[String], relevant: &HashMap<String, f64>, depth: usize) -> f64 {
    let found = ranked.iter().take(depth).filter(|id| relevant.contains_key(*id)).count();
    if relevant.is_empty() { 0.0 } else { found as f64 / relevant.len() as f64 }
}

fn reciprocal_rank(ranked: &[String], relevant: &HashMap<String, f64>) -> f64 {
    let first = ranked.iter().take(DEPTH).position(|id| relevant.contains_key(id));
    first.map_or(0.0, |index| 1.0 / (index + 1) as f64)
}

fn ndcg(ranked: &[String], relevant: &HashMap<String, f64>) -> f64 {
    let gain = |grade: f64, index: usize| grade / ((index + 2) as f64).log2();
    let gained: f64 = ranked
        .iter()
        .take(DEPTH)
        .enumerate()
        .filter_map(|(index, id)| relevant.get(id).map(|grade| gain(*grade, index)))
        .sum();
    let mut grades: Vec<f64> = relevant.values().copied().collect();
    grades.sort_by(|a, b| b.total_cmp(a));
    let ideal: f64 = grades.into_iter().take(DEPTH).enumerate().map(|(i, g)| gain(g, i)).sum();
    if ideal > 0.0 { gained / ideal } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn known_ranking_has_the_expected_metrics() {
        let relevant = HashMap::from([("b".to_owned(), 1.0), ("x".to_owned(), 1.0)]);
        let ranked = ids("a b c d e x");
        assert!((recall(&ranked, &relevant, 5) - 0.5).abs() < 1e-9);
        assert!((recall(&ranked, &relevant, 10) - 1.0).abs() < 1e-9);
        assert!((reciprocal_rank(&ranked, &relevant) - 0.5).abs() < 1e-9);
        let ideal = 1.0 + 1.0 / 3f64.log2();
        let found = 1.0 / 3f64.log2() + 1.0 / 7f64.log2();
        assert!((ndcg(&ranked, &relevant) - found / ideal).abs() < 1e-9);
    }

    #[test]
    fn ranking_without_relevant_ids_scores_zero() {
        let relevant = HashMap::from([("b".to_owned(), 1.0)]);
        assert!(reciprocal_rank(&[], &relevant).abs() < 1e-9);
        assert!(ndcg(&ids("a"), &relevant).abs() < 1e-9);
    }
}
