#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::tokens::TokenBudget;

fn statement(kind: RecordKind, text: &str) -> Statement {
    Statement {
        id: RecordId::generate(),
        passage: PassageId::generate(),
        text: text.to_owned(),
        full_chars: None,
        kind,
        scope: vec!["cart_sessions".into()],
        tags: vec!["bugfix".into(), "unit".into()],
        trust: Trust::Team,
        source: None,
        ci_status: None,
        score: 0.812_345,
        state: RecordState::Active,
        citations: vec![],
        warning: None,
        updated_at: Utc::now(),
    }
}

fn count(bundle: &Bundle) -> usize {
    mc_tokens::count(&serde_json::to_string(&response(bundle.clone())).unwrap())
}

fn empty() -> Bundle {
    Bundle { confidence: 0.84, ..Bundle::empty(BundleId::generate()) }
}

fn contents() -> Bundle {
    Bundle {
        gotchas: vec![statement(RecordKind::Gotcha, "delay_unit must equal trigger_delay_unit")],
        facts: (0..30)
            .map(|n| statement(RecordKind::Fact, &format!("fact {n} says something of the place")))
            .collect(),
        few_shots: (0..5)
            .map(|n| FewShot {
                id: RecordId::generate(),
                passage: PassageId::generate(),
                title: format!("Fix nil delay {n}"),
                steps: vec!["find nil".into(), "check units".into()],
                patch_ref: Some("sha1".into()),
                text: None,
                full_chars: None,
                scope: vec![],
                trust: Trust::Team,
                source: None,
                ci_status: None,
                score: 0.5,
                warning: None,
            })
            .collect(),
        links: vec![Link {
            title: "ADR Timing Rules".into(),
            url: "https://wiki.example/adr/7".into(),
            text: None,
            full_chars: None,
            section: None,
            lines: None,
            target: LinkTarget::Doc(DocId::generate()),
            passage: PassageId::generate(),
            trust: Trust::Imported,
            score: 0.4,
        }],
        dialogs: vec![DialogExcerpt {
            id: DialogId::generate(),
            passage: PassageId::generate(),
            text: "The delay was nil because the units differed".into(),
            trust: Trust::Team,
            score: 0.4,
        }],
        code: vec![CodePlace {
            passage: PassageId::generate(),
            location: "app/models/cart.rb".into(),
            line_start: 1,
            line_end: 9,
            symbol: Some("Cart#total".into()),
            summary: "def total".into(),
            trust: Trust::Imported,
            score: 0.3,
        }],
        ..empty()
    }
}

#[test]
fn large_budget_holds_every_section_up_to_its_limit() {
    let bundle = pack(contents(), TokenBudget::new(8_000).unwrap());
    let sizes = (
        bundle.gotchas.len(),
        bundle.facts.len(),
        bundle.few_shots.len(),
        bundle.links.len(),
        bundle.dialogs.len(),
        bundle.code.len(),
    );
    assert_eq!(sizes, (1, FACTS_MAX, FEW_SHOTS_MAX, 1, 1, 1));
    assert_eq!(bundle.facts[0].text, "fact 0 says something of the place");
    assert_eq!(bundle.token_count, count(&bundle));
}

#[test]
fn untrusted_items_come_last_within_the_remaining_budget() {
    let trusted = |n, trust| Statement {
        trust,
        ..statement(RecordKind::Fact, &format!("fact {n} of the place"))
    };
    let facts: Vec<_> = (0..20)
        .map(|n| trusted(n, if n % 2 == 0 { Trust::Untrusted } else { Trust::Confirmed }))
        .collect();
    for limit in [200, 300, 500, 900, 8_000] {
        let full = Bundle { facts: facts.clone(), ..empty() };
        let bundle = pack(full, TokenBudget::new(limit).unwrap());
        let trusts: Vec<_> = bundle.facts.iter().map(|fact| fact.trust).collect();
        let confirmed = trusts.iter().filter(|trust| **trust == Trust::Confirmed).count();
        assert!(
            trusts[..confirmed].iter().all(|trust| *trust == Trust::Confirmed),
            "{limit}: {trusts:?}"
        );
        assert!(confirmed == 10 || confirmed == trusts.len(), "{limit}: {trusts:?}");
    }
}

/// Documents, dialogs and code, half of them untrusted, and then facts.
fn places_to_read_on() -> Bundle {
    let full = contents();
    let trusts = [Trust::Untrusted, Trust::Imported, Trust::Untrusted, Trust::Imported];
    let link = |trust| Link { trust, ..full.links[0].clone() };
    let talk = |trust| DialogExcerpt { trust, ..full.dialogs[0].clone() };
    let place = |trust| CodePlace { trust, ..full.code[0].clone() };
    Bundle {
        gotchas: full.gotchas.clone(),
        facts: full.facts.iter().take(6).cloned().collect(),
        links: trusts.map(link).into(),
        dialogs: trusts.map(talk).into(),
        code: trusts.map(place).into(),
        ..empty()
    }
}

/// Asserts that `items` are those of `trusted`, followed only by untrusted ones.
fn assert_ahead<T: PartialEq + std::fmt::Debug>(
    trusted: &[T],
    items: &[T],
    trust: impl Fn(&T) -> Trust,
) {
    let (ahead, behind) = items.split_at(trusted.len().min(items.len()));
    assert_eq!(ahead, trusted);
    assert!(behind.iter().all(|item| trust(item) == Trust::Untrusted), "{behind:?}");
}

#[test]
fn untrusted_links_displace_no_trusted_item() {
    let mixed = places_to_read_on();
    let mut trusted = mixed.clone();
    trusted.links.retain(|link| link.trust > Trust::Untrusted);
    trusted.dialogs.retain(|talk| talk.trust > Trust::Untrusted);
    trusted.code.retain(|place| place.trust > Trust::Untrusted);
    for limit in (TokenBudget::MIN..2_000).step_by(40) {
        let budget = TokenBudget::new(limit).unwrap();
        let (bundle, alone) = (pack(mixed.clone(), budget), pack(trusted.clone(), budget));
        assert_eq!((&bundle.gotchas, &bundle.facts), (&alone.gotchas, &alone.facts), "{limit}");
        assert_ahead(&alone.links, &bundle.links, |link| link.trust);
        assert_ahead(&alone.dialogs, &bundle.dialogs, |talk| talk.trust);
        assert_ahead(&alone.code, &bundle.code, |place| place.trust);
    }
}

#[test]
fn code_place_has_its_trust_level() {
    let bundle = pack(places_to_read_on(), TokenBudget::new(8_000).unwrap());
    let trusts: Vec<_> = bundle.code.iter().map(|place| place.trust).collect();
    assert_eq!(
        trusts,
        [Trust::Imported, Trust::Imported, Trust::Untrusted, Trust::Untrusted],
        "there is room for all of it"
    );
    let json = json!(response(bundle));
    assert_eq!(json["code"][1]["trust"], "imported");
    assert_eq!(json["code"][2]["trust"], "untrusted");
}

#[test]
fn statement_has_its_source() {
    let source = Some("https://wiki.example/cart".to_owned());
    let mut full = contents();
    full.facts[0].source.clone_from(&source);
    full.few_shots[0].source = source;
    let bundle = pack(full, TokenBudget::new(8_000).unwrap());
    let json = json!(response(bundle.clone()));
    for section in ["facts", "few_shots"] {
        assert_eq!(json[section][0]["source"], "https://wiki.example/cart");
        assert!(json[section][1].get("source").is_none(), "nobody named any");
    }
    assert_eq!(bundle.token_count, mc_tokens::count(&json.to_string()), "and that is counted");
}

#[test]
fn small_budget_has_the_gotcha_first() {
    let bundle = pack(contents(), TokenBudget::new(180).unwrap());
    assert_eq!(bundle.gotchas.len(), 1);
    assert!(bundle.facts.len() < 3 && bundle.token_count <= 180, "{}", bundle.token_count);
}

#[test]
fn long_statement_is_whole_or_marked_as_shortened() {
    let story =
        "We looked at the logs and at the queue for two days and saw nothing of use. ".repeat(10);
    let text = format!("{story}Never retry a charge without its key.");
    let contents = || Bundle { facts: vec![statement(RecordKind::Fact, &text)], ..empty() };
    let whole = pack(contents(), TokenBudget::new(1000).unwrap());
    assert_eq!((whole.facts[0].text.as_str(), whole.facts[0].full_chars), (text.as_str(), None));
    let short = pack(contents(), TokenBudget::new(270).unwrap());
    let fact = &short.facts[0];
    assert_eq!(fact.full_chars, Some(text.chars().count()));
    assert!(fact.text.ends_with("Never retry a charge without its key."), "{}", fact.text);
    assert!(fact.text.chars().count() <= STATEMENT_MAX_CHARS);
}

#[test]
fn budget_too_small_for_any_item_is_reported() {
    let facts = vec![statement(RecordKind::Fact, &"long ".repeat(50))];
    let full = Bundle { facts, ..empty() };
    let bundle = pack(full, TokenBudget::new(100).unwrap());
    assert!(bundle.is_empty());
    assert_eq!(bundle.reason.as_deref(), Some("limit_tokens is too small for what was found"));
    assert!(bundle.confidence.abs() < f32::EPSILON);
}

#[test]
fn stale_record_shows_what_changed() {
    let place = |file: &str, verdict| CitedPlace {
        file: file.into(),
        symbol: None,
        lines: None,
        commit: None,
        verdict,
    };
    let warning = |places: &[CitedPlace]| staleness_warning(places).unwrap_or_default();
    assert_eq!(
        warning(&[
            place("a.rb", CitationVerdict::Fresh),
            place("b.rb", CitationVerdict::Unchecked)
        ]),
        ""
    );
    assert!(
        warning(&[place("a.rb", CitationVerdict::Drifted)])
            .starts_with("cited code changed in a.rb since")
    );
    assert!(
        warning(&[
            place("a.rb", CitationVerdict::Orphaned),
            place("b.rb", CitationVerdict::Drifted)
        ])
        .starts_with("cited code is gone from a.rb and 1 more")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn bundle_never_exceeds_its_token_limit(
        limit in TokenBudget::MIN..1_500,
        texts in prop::collection::vec("[ a-zA-Zа-я0-9\"\\\\{}\n😀]{0,300}", 0..12),
        reason in prop::option::of("[ a-zа-я]{0,200}"),
        title in prop::option::of("[ a-zа-я😀]{0,300}"),
        degraded in prop::collection::vec("[a-z]{3,8}", 0..3),
    ) {
        let mut full = contents();
        full.facts = texts.iter().map(|text| statement(RecordKind::Fact, text)).collect();
        full.gotchas = texts.iter().rev().map(|text| statement(RecordKind::Rule, text)).collect();
        let task = title.map(|title| TaskSummary {
            external_id: "CS-214".into(),
            title,
            status: "open".into(),
        });
        let full = Bundle { degraded, reason, task, ..full };
        let bundle = pack(full, TokenBudget::new(limit).unwrap());
        prop_assert!(count(&bundle) <= limit);
        prop_assert!(bundle.token_count <= limit);
    }
}

/// A bundle of an envelope alone has no room for the number of omitted items.
#[test]
fn omitted_items_are_not_counted_if_the_count_exceeds_the_limit() {
    let said = |words: &str| Some(words.repeat(12));
    for limit in TokenBudget::MIN..400 {
        let task = said("заголовок задачи ").map(|title| TaskSummary {
            external_id: "CS-214".into(),
            title,
            status: "open".into(),
        });
        let full = Bundle { reason: said("причина кроется "), task, ..contents() };
        let bundle = pack(full, TokenBudget::new(limit).unwrap());
        assert!(count(&bundle) <= limit, "{limit}: {bundle:?}");
    }
}

/// The tokens of an id depend on its digits.
#[test]
fn empty_bundle_fits_the_smallest_limit_with_any_id() {
    let budget = TokenBudget::new(TokenBudget::MIN).unwrap();
    let sizes = (0..5_000).map(|_| {
        let bundle = pack(empty(), budget);
        assert_eq!(bundle.token_count, count(&bundle));
        bundle.token_count
    });
    let largest = sizes.max().unwrap();
    assert!(largest <= TokenBudget::MIN, "{largest}");
}
