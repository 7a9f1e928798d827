use mc_domain::{CiVerdict, RecordState};

use super::*;
use crate::query::{Certainty, Name};
use crate::rank::RetrieverRank;
use crate::rank::fixtures::{chunk, doc, fact, now};
use crate::rank::fusion::{MIN_EXACT_SHARE, retriever_weight};
use crate::retrievers::Retriever;

fn context() -> RankContext {
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

/// Returns the texts in the order of the reranking.
fn order(mut candidates: Vec<Candidate>, context: &RankContext) -> Vec<String> {
    rerank(&mut candidates, context);
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
fn stale_old_and_useless_records_rank_lower() {
    let stale = changed(fact("stale", 0), |c| record(c).state = RecordState::Stale);
    let useless = changed(fact("useless", 0), |c| record(c).skip_count = 40);
    let useful = changed(fact("useful", 0), |c| {
        record(c).skip_count = 10;
        record(c).use_count = 30;
    });
    let candidates = vec![stale, fact("old", 700), fact("new", 0), useless, useful];
    assert_eq!(order(candidates, &context()), ["useful", "new", "old", "useless", "stale"]);
}

#[test]
fn recall_without_feedback_does_not_change_the_score() {
    let mut recalled = [changed(fact("recalled", 0), |c| record(c).recall_count = 400)];
    rerank(&mut recalled, &context());
    assert!(recalled[0].adjustments.is_empty(), "{:?}", recalled[0].adjustments);
}

#[test]
fn used_record_does_not_age() {
    let used = changed(fact("used", 700), |c| record(c).last_used_at = Some(now()));
    assert_eq!(order(vec![fact("old", 700), used], &context()), ["used", "old"]);
}

#[test]
fn feedback_counts_more_than_observed_use() {
    let used = changed(fact("used", 0), |c| record(c).use_count = 4);
    let cited = changed(fact("cited", 0), |c| record(c).cite_count = 4);
    let merged = changed(fact("merged", 0), |c| {
        (record(c).pull_request_count, record(c).open_count) = (4, 1);
    });
    let opened = changed(fact("opened", 0), |c| record(c).open_count = 4);
    let skipped = changed(fact("skipped", 0), |c| record(c).skip_count = 4);
    let candidates = vec![skipped, opened, fact("new", 0), cited, merged, used];
    let expected = ["used", "merged", "cited", "opened", "new", "skipped"];
    assert_eq!(order(candidates, &context()), expected);
}

#[test]
fn ci_result_counts_less_than_use_by_people() {
    let with_ci = |text: &str, ci| changed(fact(text, 0), |c| record(c).ci_status = Some(ci));
    let useful = changed(fact("useful", 0), |c| {
        record(c).skip_count = 10;
        record(c).use_count = 30;
    });
    let proven = with_ci("proven", CiVerdict::Passed);
    let candidates = vec![with_ci("disproven", CiVerdict::Failed), proven, fact("new", 0), useful];
    assert_eq!(order(candidates, &context()), ["useful", "proven", "new", "disproven"]);
    let failed_and_useful = changed(with_ci("failed and useful", CiVerdict::Failed), |c| {
        record(c).skip_count = 10;
        record(c).use_count = 30;
    });
    assert_eq!(
        order(vec![fact("new", 0), failed_and_useful], &context()),
        ["failed and useful", "new"]
    );
}

#[test]
fn documents_do_not_age() {
    let mut candidates =
        vec![changed(doc("a"), |c| c.passage.updated_at -= chrono::TimeDelta::days(900))];
    rerank(&mut candidates, &context());
    assert!(candidates[0].adjustments.is_empty());
}

#[test]
fn scope_with_the_path_or_in_the_text_raises_the_score() {
    let scoped = |text: &str, scope: &str| {
        changed(fact(text, 0), |c| c.passage.indexed.scope = vec![scope.into()])
    };
    let search = RankContext {
        names: ParsedQuery {
            paths: vec![name("app/cart/x.rb", "app/cart/x.rb", Certainty::Named)],
            ..ParsedQuery::default()
        },
        text: "why is the checkout slow".into(),
        ..context()
    };
    for (scope, lifted) in [
        ("app/cart/**", true),
        ("checkout", true),
        ("app/car", false),
        ("check", false),
        ("**", false),
    ] {
        let mut candidates = vec![scoped("a", scope)];
        rerank(&mut candidates, &search);
        assert_eq!(
            candidates[0].adjustments.iter().any(|a| a.step == Step::Scope),
            lifted,
            "{scope}"
        );
    }
}

#[test]
fn exact_name_ranks_before_its_suffix_and_other_case() {
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
    let found = order(candidates, &RankContext { names, ..context() });
    assert_eq!(found, ["whole", "capitals", "tail", "other"]);
}

/// The lower bound of [`NAMED_FACTOR`].
#[test]
fn weakest_named_hit_ranks_before_the_best_other_hit() {
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
        c.fused_score = retriever_weight(Retriever::Exact) * MIN_EXACT_SHARE;
        c.retrievers = vec![RetrieverRank {
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
        let text: f32 = [Retriever::Exact, Retriever::Keyword, Retriever::Vector]
            .map(retriever_weight)
            .iter()
            .sum();
        c.fused_score = text * (1.0 + retriever_weight(Retriever::History));
        let record = record(c);
        record.use_count = 100_000;
    });
    let search = RankContext { names, text: "checkout".into(), ..context() };
    assert_eq!(order(vec![strongest, weakest], &search), ["named", "other"]);
}

#[test]
fn file_with_two_matches_ranks_before_one_with_one() {
    let (twice, once) = (mc_domain::FileId::generate(), mc_domain::FileId::generate());
    let scored = |text: &str, file, fused| changed(chunk(text, file), |c| c.fused_score = fused);
    let candidates =
        vec![scored("alone", once, 1.0), scored("a", twice, 0.95), scored("b", twice, 0.9)];
    assert_eq!(order(candidates, &context()), ["a", "b", "alone"]);
}

#[test]
fn history_of_a_file_does_not_support_its_other_passages() {
    let file = mc_domain::FileId::generate();
    let lifted = changed(chunk("a", file), |c| {
        c.fused_score = 1.4;
        c.retrievers = vec![RetrieverRank {
            retriever: Retriever::History,
            rank: 1,
            score: 1.0,
            contribution: 0.4,
        }];
    });
    let mut candidates = vec![lifted, changed(chunk("b", file), |c| c.fused_score = 0.5)];
    rerank(&mut candidates, &context());
    let scores: Vec<_> = candidates.iter().map(|c| c.score).collect();
    assert!((scores[0] - (1.4 + 0.15 * 0.5)).abs() < 1e-5, "{scores:?}");
}

#[test]
fn scope_prefix_raises_the_score_of_code_only() {
    let with_location = |location: &str, candidate| {
        changed(candidate, |c| c.passage.indexed.location = location.to_owned())
    };
    let file = mc_domain::FileId::generate;
    let names =
        ParsedQuery { scope_prefix: vec!["dom".into(), "jsx".into()], ..ParsedQuery::default() };
    let search = RankContext { names, ..context() };
    let mut candidates = vec![
        with_location("src/jsx/dom/render.ts", chunk("inside", file())),
        with_location("src/jsx/base.ts", chunk("outside", file())),
        with_location("src/jsx/dom/README.md", doc("a document")),
    ];
    rerank(&mut candidates, &search);
    for candidate in candidates {
        let is_lifted = candidate.adjustments.iter().any(|a| a.step == Step::ScopePrefix);
        assert_eq!(is_lifted, candidate.passage.indexed.text == "inside");
    }
}

#[test]
fn message_of_the_named_author_ranks_first() {
    let by_author =
        |text: &str, author: &str| changed(doc(text), |c| c.passage.indexed.author = author.into());
    let search = RankContext { text: "what did maria decide?".into(), ..context() };
    let candidates =
        vec![by_author("he", "Mario Rossi"), by_author("she", "Maria Rossi"), by_author("it", "")];
    assert_eq!(order(candidates, &search)[0], "she");
    let search = RankContext { text: "what was decided?".into(), ..context() };
    let mut candidates = vec![by_author("she", "Maria Rossi")];
    rerank(&mut candidates, &search);
    assert!(candidates[0].adjustments.is_empty());
}

#[test]
fn rank_factors_are_the_query_independent_steps() {
    let rank_factor_of = |candidate: &Candidate| {
        rank_factors(&candidate.passage, now()).iter().map(|(_, factor)| factor).product::<f32>()
    };
    assert!((rank_factor_of(&fact("new", 0)) - 1.0).abs() < f32::EPSILON);
    assert!((rank_factor_of(&doc("a document")) - 1.0).abs() < f32::EPSILON);
    let mut stale = fact("old", 90);
    let record = stale.passage.record.as_mut().expect("a record");
    (record.state, record.skip_count) = (RecordState::Stale, 20);
    let mut ranked = [stale.clone()];
    rerank(&mut ranked, &context());
    assert!((ranked[0].score - rank_factor_of(&stale)).abs() < 1e-6 && ranked[0].score < 0.6);
    let factors = ranked[0].adjustments.iter().map(|adjusted| (adjusted.step, adjusted.factor));
    let independent = factors.filter(|(step, _)| QUERY_INDEPENDENT.contains(step));
    assert_eq!(rank_factors(&stale.passage, now()), independent.collect::<Vec<_>>());
}
