use mc_domain::{CiVerdict, RecordState};

use super::*;
use crate::query::{Certainty, Name};
use crate::rank::LegRank;
use crate::rank::fixtures::{chunk, doc, fact, now};
use crate::rank::fusion::{LEAST_EXACT, leg_weight};
use crate::retrievers::Retriever;

fn situation() -> RankContext {
    RankContext {
        names: ParsedQuery::default(),
        text: String::new(),
        now: now(),
        disabled_steps: DisabledSteps::default(),
    }
}

fn name(written: &str, key: &str, certainty: Certainty) -> Name {
    Name { key: key.into(), written: written.into(), certainty }
}

/// The texts in the order that the rerank gives them.
fn order(mut candidates: Vec<Candidate>, situation: &RankContext) -> Vec<String> {
    rerank(&mut candidates, situation);
    candidates.into_iter().map(|candidate| candidate.passage.indexed.text).collect()
}

fn changed(mut candidate: Candidate, change: impl FnOnce(&mut Candidate)) -> Candidate {
    change(&mut candidate);
    candidate
}

fn record(candidate: &mut Candidate) -> &mut mc_store::passages::RecordFacet {
    candidate.passage.record.as_mut().expect("a record")
}

#[test]
fn stale_old_and_useless_memories_sink() {
    let stale = changed(fact("stale", 0), |c| record(c).state = RecordState::Stale);
    let useless = changed(fact("useless", 0), |c| record(c).skip_count = 40);
    let useful = changed(fact("useful", 0), |c| {
        record(c).skip_count = 10;
        record(c).use_count = 30;
    });
    let candidates = vec![stale, fact("old", 700), fact("new", 0), useless, useful];
    assert_eq!(order(candidates, &situation()), ["useful", "new", "old", "useless", "stale"]);
}

#[test]
fn a_recall_of_which_nothing_is_known_counts_neither_way() {
    let mut recalled = [changed(fact("recalled", 0), |c| record(c).recall_count = 400)];
    rerank(&mut recalled, &situation());
    assert!(recalled[0].adjustments.is_empty(), "{:?}", recalled[0].adjustments);
}

#[test]
fn a_used_record_does_not_lose_score_with_age() {
    let used = changed(fact("used", 700), |c| record(c).last_used_at = Some(now()));
    assert_eq!(order(vec![fact("old", 700), used], &situation()), ["used", "old"]);
}

#[test]
fn a_word_of_feedback_counts_more_than_use_that_was_only_seen() {
    let used = changed(fact("used", 0), |c| record(c).use_count = 4);
    let cited = changed(fact("cited", 0), |c| record(c).cite_count = 4);
    let merged = changed(fact("merged", 0), |c| {
        (record(c).pull_request_count, record(c).open_count) = (4, 1);
    });
    let opened = changed(fact("opened", 0), |c| record(c).open_count = 4);
    let passed_over = changed(fact("passed over", 0), |c| record(c).skip_count = 4);
    let candidates = vec![passed_over, opened, fact("new", 0), cited, merged, used];
    let expected = ["used", "merged", "cited", "opened", "new", "passed over"];
    assert_eq!(order(candidates, &situation()), expected);
}

#[test]
fn a_ci_result_counts_less_than_use_by_people() {
    let said = |text: &str, ci| changed(fact(text, 0), |c| record(c).ci_status = Some(ci));
    let useful = changed(fact("useful", 0), |c| {
        record(c).skip_count = 10;
        record(c).use_count = 30;
    });
    let proven = said("proven", CiVerdict::Passed);
    let candidates = vec![said("disproven", CiVerdict::Failed), proven, fact("new", 0), useful];
    assert_eq!(order(candidates, &situation()), ["useful", "proven", "new", "disproven"]);
    let both = changed(said("both", CiVerdict::Failed), |c| {
        record(c).skip_count = 10;
        record(c).use_count = 30;
    });
    assert_eq!(order(vec![fact("new", 0), both], &situation()), ["both", "new"]);
}

#[test]
fn documents_do_not_age() {
    let mut candidates =
        vec![changed(doc("a"), |c| c.passage.updated_at -= chrono::TimeDelta::days(900))];
    rerank(&mut candidates, &situation());
    assert!(candidates[0].adjustments.is_empty());
}

#[test]
fn a_scope_that_holds_the_path_or_stands_in_the_text_lifts() {
    let scoped = |text: &str, scope: &str| {
        changed(fact(text, 0), |c| c.passage.indexed.scope = vec![scope.into()])
    };
    let at = RankContext {
        names: ParsedQuery {
            paths: vec![name("app/cart/x.rb", "app/cart/x.rb", Certainty::Named)],
            ..ParsedQuery::default()
        },
        text: "why is the checkout slow".into(),
        ..situation()
    };
    for (scope, lifted) in [
        ("app/cart/**", true),
        ("checkout", true),
        ("app/car", false),
        ("check", false),
        ("**", false),
    ] {
        let mut candidates = vec![scoped("a", scope)];
        rerank(&mut candidates, &at);
        assert_eq!(
            candidates[0].adjustments.iter().any(|a| a.step == Step::Scope),
            lifted,
            "{scope}"
        );
    }
}

#[test]
fn an_exact_name_ranks_before_its_suffix_and_other_case() {
    let defines = |text: &str, symbol: &str| {
        changed(doc(text), |c| c.passage.indexed.symbols = vec![symbol.into()])
    };
    let names = ParsedQuery {
        symbols: vec![name("Setting#delay", "setting.delay", Certainty::Named)],
        ..ParsedQuery::default()
    };
    let candidates = vec![
        defines("other", "Other#delay"),
        defines("tail", "Cart::Setting#delay"),
        defines("capitals", "SETTING#delay"),
        defines("whole", "Setting#delay"),
    ];
    let found = order(candidates, &RankContext { names, ..situation() });
    assert_eq!(found, ["whole", "capitals", "tail", "other"]);
}

/// The bound that [`NAMED_FACTOR`] promises.
#[test]
fn the_weakest_named_hit_beats_the_strongest_other() {
    let names = ParsedQuery {
        symbols: vec![
            name("delay", "delay", Certainty::Named),
            name("Cart#total", "cart.total", Certainty::Mentioned),
        ],
        paths: vec![name("a/b.rb", "a/b.rb", Certainty::Mentioned)],
        ..ParsedQuery::default()
    };
    let weakest = changed(fact("named", 9999), |c| {
        c.passage.indexed.symbols = vec!["X#Delay".into()];
        c.fused_score = leg_weight(Retriever::Exact) * LEAST_EXACT;
        c.retrievers = vec![LegRank {
            retriever: Retriever::Exact,
            rank: 200,
            score: 1.0,
            contribution: c.fused_score,
        }];
        let record = record(c);
        record.state = RecordState::Stale;
        record.skip_count = 100_000;
    });
    let strongest = changed(fact("other", 0), |c| {
        c.passage.indexed.symbols = vec!["Cart#total".into()];
        c.passage.indexed.location = "a/b.rb".into();
        c.passage.indexed.scope = vec!["checkout".into()];
        c.passage.indexed.author = "Checkout".into();
        let text: f32 =
            [Retriever::Exact, Retriever::Keyword, Retriever::Vector].map(leg_weight).iter().sum();
        c.fused_score = text * (1.0 + leg_weight(Retriever::History));
        let record = record(c);
        record.use_count = 100_000;
    });
    let at = RankContext { names, text: "checkout".into(), ..situation() };
    assert_eq!(order(vec![strongest, weakest], &at), ["named", "other"]);
}

#[test]
fn a_file_with_two_matches_ranks_before_one_with_one() {
    let (twice, once) = (mc_domain::FileId::generate(), mc_domain::FileId::generate());
    let scored = |text: &str, file, fused| changed(chunk(text, file), |c| c.fused_score = fused);
    let candidates =
        vec![scored("alone", once, 1.0), scored("a", twice, 0.95), scored("b", twice, 0.9)];
    assert_eq!(order(candidates, &situation()), ["a", "b", "alone"]);
}

#[test]
fn a_history_match_lifts_no_other_passage_of_its_file() {
    let file = mc_domain::FileId::generate();
    let lifted = changed(chunk("a", file), |c| {
        c.fused_score = 1.4;
        c.retrievers =
            vec![LegRank { retriever: Retriever::History, rank: 1, score: 1.0, contribution: 0.4 }];
    });
    let mut candidates = vec![lifted, changed(chunk("b", file), |c| c.fused_score = 0.5)];
    rerank(&mut candidates, &situation());
    let scores: Vec<_> = candidates.iter().map(|c| c.score).collect();
    assert!((scores[0] - (1.4 + 0.15 * 0.5)).abs() < 1e-5, "{scores:?}");
}

#[test]
fn code_in_the_named_directory_is_lifted_and_notes_are_not() {
    let at = |place: &str, candidate| {
        changed(candidate, |c| c.passage.indexed.location = place.to_owned())
    };
    let file = mc_domain::FileId::generate;
    let names =
        ParsedQuery { scope_prefix: vec!["dom".into(), "jsx".into()], ..ParsedQuery::default() };
    let situation = RankContext { names, ..situation() };
    let mut candidates = vec![
        at("src/jsx/dom/render.ts", chunk("inside", file())),
        at("src/jsx/base.ts", chunk("beside", file())),
        at("src/jsx/dom/README.md", doc("a document")),
    ];
    rerank(&mut candidates, &situation);
    for candidate in candidates {
        let is_lifted = candidate.adjustments.iter().any(|a| a.step == Step::ScopePrefix);
        assert_eq!(is_lifted, candidate.passage.indexed.text == "inside");
    }
}

#[test]
fn a_message_of_the_named_person_ranks_first() {
    let said =
        |text: &str, author: &str| changed(doc(text), |c| c.passage.indexed.author = author.into());
    let at = RankContext { text: "what did maria decide?".into(), ..situation() };
    let candidates = vec![said("he", "Mario Rossi"), said("she", "Maria Rossi"), said("it", "")];
    assert_eq!(order(candidates, &at)[0], "she");
    let at = RankContext { text: "what was decided?".into(), ..situation() };
    let mut candidates = vec![said("she", "Maria Rossi")];
    rerank(&mut candidates, &at);
    assert!(candidates[0].adjustments.is_empty());
}

#[test]
fn a_record_standing_equals_its_ranking_factor() {
    let standing_of = |candidate: &Candidate| {
        standing(&candidate.passage, now()).iter().map(|(_, factor)| factor).product::<f32>()
    };
    assert!((standing_of(&fact("new", 0)) - 1.0).abs() < f32::EPSILON);
    assert!((standing_of(&doc("a document")) - 1.0).abs() < f32::EPSILON);
    let mut worn = fact("old", 90);
    let record = worn.passage.record.as_mut().expect("a record");
    (record.state, record.skip_count) = (RecordState::Stale, 20);
    let mut ranked = [worn.clone()];
    rerank(&mut ranked, &situation());
    assert!((ranked[0].score - standing_of(&worn)).abs() < 1e-6 && ranked[0].score < 0.6);
    let adjusted = ranked[0].adjustments.iter().map(|one| (one.step, one.factor));
    let of_itself = adjusted.filter(|(step, _)| OF_ITSELF.contains(step));
    assert_eq!(standing(&worn.passage, now()), of_itself.collect::<Vec<_>>());
}
