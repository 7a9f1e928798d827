//! Retrieval of inflected notes by inflected queries, with the keyword retriever alone.
//!
//! `russian/` is a data set in the BEIR layout, so `memory-copilot eval` reads it too. Every query
//! has one relevant note; half of the notes are similar but not relevant.

use std::collections::HashMap;

use serde_json::Value;

use crate::support::{Fixture, Node, passage};

const CORPUS: &str = include_str!("russian/corpus.jsonl");
const QUERIES: &str = include_str!("russian/queries.jsonl");
const QRELS: &str = include_str!("russian/qrels.tsv");

/// Minimum recall of the first five hits.
const RECALL_AT_5_MIN: f64 = 0.90;

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::print_stdout, reason = "prints the measured figures")]
async fn inflected_russian_queries_find_their_notes() {
    let fixture = Fixture::new().await;
    index(&fixture).await;
    let node = fixture.node().await.ready().await;
    let ranks = ranks(&fixture, &node).await;
    node.stop().await;

    let recall_at_5 = recall(&ranks, 5);
    println!(
        "{} questions: recall@5 {recall_at_5:.3}, recall@10 {:.3}, MRR@10 {:.3}",
        ranks.len(),
        recall(&ranks, 10),
        reciprocal_rank(&ranks),
    );
    let missed: Vec<_> =
        ranks.iter().filter(|(_, rank)| rank.is_none_or(|rank| rank > 5)).collect();
    assert!(ranks.len() >= 60, "too few queries: {}", ranks.len());
    assert!(recall_at_5 >= RECALL_AT_5_MIN, "recall@5 is {recall_at_5:.3}; missed: {missed:#?}");
}

/// Writes each note as a document with its id as name.
async fn index(fixture: &Fixture) {
    let mut tx = fixture.store().begin().await.expect("a transaction");
    for (id, text) in rows(CORPUS) {
        fixture.write_in(&mut tx, &id, &[passage(&id, &text)]).await;
    }
    tx.commit().await.expect("a commit");
}

/// Returns each query with the rank of its note among ten hits, from 1.
async fn ranks(fixture: &Fixture, node: &Node) -> Vec<(String, Option<usize>)> {
    let relevant = relevant();
    let mut ranks = Vec::new();
    for (id, text) in rows(QUERIES) {
        let outcome = node.find(&fixture.query(&text)).await;
        assert_eq!(outcome.degraded, ["vector: embedding provider unavailable"], "{text}");
        let expected = relevant[id.as_str()];
        let index = outcome.hits.iter().position(|hit| hit.passage.indexed.location == expected);
        ranks.push((text, index.map(|index| index + 1)));
    }
    ranks
}

/// Parses the id and text of each line.
fn rows(lines: &str) -> impl Iterator<Item = (String, String)> {
    lines.lines().map(|line| {
        let row: Value = serde_json::from_str(line).expect("a row of JSON");
        let field = |name: &str| row[name].as_str().expect("a text").to_owned();
        (field("_id"), field("text"))
    })
}

/// Returns the note of each query.
fn relevant() -> HashMap<&'static str, &'static str> {
    let rows = QRELS.lines().skip(1).map(|line| {
        let mut fields = line.split('\t');
        (fields.next().expect("a question"), fields.next().expect("a note"))
    });
    rows.collect()
}

fn recall(ranks: &[(String, Option<usize>)], depth: usize) -> f64 {
    let found = ranks.iter().filter(|(_, rank)| rank.is_some_and(|rank| rank <= depth)).count();
    found as f64 / ranks.len() as f64
}

fn reciprocal_rank(ranks: &[(String, Option<usize>)]) -> f64 {
    let total: f64 = ranks.iter().filter_map(|(_, rank)| rank.map(|rank| 1.0 / rank as f64)).sum();
    total / ranks.len() as f64
}
