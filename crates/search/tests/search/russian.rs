//! Inflected questions over inflected notes, by the keyword leg alone.
//!
//! `russian/` is a set in the BEIR layout, so `memory-copilot eval` reads it too. Every question
//! has one note; half of the notes are neighbours that answer none.

use std::collections::HashMap;

use serde_json::Value;

use crate::support::{Node, World, passage};

const CORPUS: &str = include_str!("russian/corpus.jsonl");
const QUERIES: &str = include_str!("russian/queries.jsonl");
const QRELS: &str = include_str!("russian/qrels.tsv");

/// What at least has to be among the first five.
const RECALL_AT_5_MIN: f64 = 0.90;

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::print_stdout, reason = "the figures say what was measured")]
async fn russian_questions_find_their_notes_whatever_the_inflection() {
    let world = World::new().await;
    index(&world).await;
    let node = world.node().await.ready().await;
    let ranks = ranks(&world, &node).await;
    node.stop().await;

    let recall_at_5 = recall(&ranks, 5);
    println!(
        "{} questions: recall@5 {recall_at_5:.3}, recall@10 {:.3}, MRR@10 {:.3}",
        ranks.len(),
        recall(&ranks, 10),
        reciprocal_rank(&ranks),
    );
    let missed: Vec<_> = ranks.iter().filter(|(_, rank)| rank.is_none_or(|at| at > 5)).collect();
    assert!(ranks.len() >= 60, "too few questions to say anything: {}", ranks.len());
    assert!(recall_at_5 >= RECALL_AT_5_MIN, "recall@5 is {recall_at_5:.3}; missed: {missed:#?}");
}

/// Writes each note as a document of its own, named by its id.
async fn index(world: &World) {
    let mut tx = world.store().begin().await.expect("a transaction");
    for (id, text) in rows(CORPUS) {
        world.write_in(&mut tx, &id, &[passage(&id, &text)]).await;
    }
    tx.commit().await.expect("a commit");
}

/// Each question, and at which place of ten its note came, from 1.
async fn ranks(world: &World, node: &Node) -> Vec<(String, Option<usize>)> {
    let relevant = relevant();
    let mut ranks = Vec::new();
    for (id, text) in rows(QUERIES) {
        let outcome = node.find(&world.query(&text)).await;
        assert_eq!(outcome.degraded, ["vector: embedding provider unavailable"], "{text}");
        let expected = relevant[id.as_str()];
        let at = outcome.hits.iter().position(|hit| hit.passage.indexed.location == expected);
        ranks.push((text, at.map(|at| at + 1)));
    }
    ranks
}

/// Id and text of each row of JSON Lines.
fn rows(lines: &str) -> impl Iterator<Item = (String, String)> {
    lines.lines().map(|line| {
        let row: Value = serde_json::from_str(line).expect("a row of JSON");
        let field = |name: &str| row[name].as_str().expect("a text").to_owned();
        (field("_id"), field("text"))
    })
}

/// The note of each question.
fn relevant() -> HashMap<&'static str, &'static str> {
    let rows = QRELS.lines().skip(1).map(|line| {
        let mut fields = line.split('\t');
        (fields.next().expect("a question"), fields.next().expect("a note"))
    });
    rows.collect()
}

fn recall(ranks: &[(String, Option<usize>)], depth: usize) -> f64 {
    let found = ranks.iter().filter(|(_, rank)| rank.is_some_and(|at| at <= depth)).count();
    found as f64 / ranks.len() as f64
}

fn reciprocal_rank(ranks: &[(String, Option<usize>)]) -> f64 {
    let total: f64 = ranks.iter().filter_map(|(_, rank)| rank.map(|at| 1.0 / at as f64)).sum();
    total / ranks.len() as f64
}
