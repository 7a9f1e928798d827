use mc_domain::FileId;

use super::*;
use crate::rank::fixtures::{chunk, doc, fact};

const LONG: &str = "the cart worker retries three times with a growing delay and then gives the \
                    session up as lost, which support sees";

fn texts(candidates: &[Candidate]) -> Vec<&str> {
    candidates.iter().map(|candidate| candidate.passage.indexed.text.as_str()).collect()
}

fn unique(candidates: Vec<Candidate>, limit: usize, max_per_file: Option<usize>) -> Vec<Candidate> {
    dedup(candidates, limit, max_per_file, &mut WordPairs::default())
}

#[test]
fn better_of_two_near_duplicates_is_kept() {
    let duplicate = format!("{}!", LONG.to_uppercase());
    let unique = unique(vec![doc(LONG), doc(&duplicate), doc("another matter")], 10, None);
    assert_eq!(texts(&unique), [LONG, "another matter"]);
}

#[test]
fn short_texts_that_differ_in_one_word_are_kept() {
    let unique =
        unique(vec![doc("the timeout is 30 seconds"), doc("the timeout is 60 seconds")], 10, None);
    assert_eq!(unique.len(), 2);
}

#[test]
fn record_that_repeats_a_document_is_kept() {
    assert_eq!(unique(vec![doc(LONG), fact(LONG, 0)], 10, None).len(), 2);
}

#[test]
fn similar_records_are_kept() {
    let one = format!("{LONG}; it is logged as E0123 by the worker, the queue and the dashboard");
    let other = one.replace("E0123", "E0124");
    assert_eq!(unique(vec![fact(&one, 0), fact(&other, 0)], 10, None).len(), 2);
}

#[test]
fn hits_of_one_file_are_limited() {
    let (a, b) = (FileId::generate(), FileId::generate());
    let chunks = vec![chunk("one", a), chunk("two", a), chunk("three", a), chunk("four", b)];
    assert_eq!(texts(&unique(chunks.clone(), 10, Some(2))), ["one", "two", "four"]);
    assert_eq!(unique(chunks.clone(), 10, None).len(), 4);
    assert_eq!(unique(chunks, 1, None).len(), 1);
}

#[test]
fn order_of_words_matters() {
    let other = LONG.replace("the cart worker", "worker cart the");
    let (one, other) = (word_pairs(LONG), word_pairs(&other));
    assert_eq!((one.len(), count_shared(&one, &other)), (other.len(), one.len() - 3));
}
