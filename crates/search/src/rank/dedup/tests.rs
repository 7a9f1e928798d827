use mc_domain::FileId;

use super::*;
use crate::rank::fixtures::{chunk, doc, fact};

const LONG: &str = "the cart worker retries three times with a growing delay and then gives the \
                    session up as lost, which support sees";

fn texts(kept: &[Candidate]) -> Vec<&str> {
    kept.iter().map(|candidate| candidate.passage.indexed.text.as_str()).collect()
}

#[test]
fn near_identical_texts_are_one_and_the_better_stays() {
    let again = format!("{}!", LONG.to_uppercase());
    let kept = dedup(vec![doc(LONG), doc(&again), doc("another matter")], 10, None);
    assert_eq!(texts(&kept), [LONG, "another matter"]);
}

#[test]
fn one_word_can_be_the_whole_point_of_a_short_text() {
    let kept =
        dedup(vec![doc("the timeout is 30 seconds"), doc("the timeout is 60 seconds")], 10, None);
    assert_eq!(kept.len(), 2);
}

#[test]
fn a_fact_that_repeats_a_document_stays_beside_it() {
    assert_eq!(dedup(vec![doc(LONG), fact(LONG, 0)], 10, None).len(), 2);
}

#[test]
fn records_that_were_kept_apart_stay_apart() {
    let one = format!("{LONG}; it is logged as E0123 by the worker, the queue and the dashboard");
    let other = one.replace("E0123", "E0124");
    assert_eq!(dedup(vec![fact(&one, 0), fact(&other, 0)], 10, None).len(), 2);
}

#[test]
fn one_file_does_not_fill_the_answer() {
    let (a, b) = (FileId::generate(), FileId::generate());
    let chunks = vec![chunk("one", a), chunk("two", a), chunk("three", a), chunk("four", b)];
    assert_eq!(texts(&dedup(chunks.clone(), 10, Some(2))), ["one", "two", "four"]);
    assert_eq!(dedup(chunks.clone(), 10, None).len(), 4);
    assert_eq!(dedup(chunks, 1, None).len(), 1);
}
