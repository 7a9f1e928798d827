use proptest::prelude::*;

use super::*;

fn terms(text: &str) -> Vec<String> {
    analyse(text).into_iter().map(|lexeme| lexeme.text).collect()
}

fn meet(a: &str, b: &str) -> bool {
    let b = terms(b);
    terms(a).iter().any(|term| b.contains(term))
}

#[test]
fn identifiers_are_kept_whole_and_split() {
    let cases: &[(&str, &[&str])] = &[
        ("trigger_delay", &["trigger_delay", "trigger", "delay"]),
        ("HTTPServer", &["httpserver", "http", "server"]),
        ("parseUserId", &["parseuserid", "pars", "user", "id"]),
        ("sha256", &["sha256", "sha", "256"]),
        ("OAuth2Token", &["oauth2token", "auth", "2", "token"]),
        ("_private", &["_private", "privat"]),
        ("memory-copilot", &["memory-copilot", "memori", "copilot"]),
        ("a.b.c", &["a.b.c", "a", "b", "c"]),
        ("Foo::Bar#baz", &["foo::bar#baz", "foo", "bar", "baz"]),
        ("user->name", &["user->name", "user", "name"]),
        (
            "app/models/cart_item.rb",
            &["app/models/cart_item.rb", "app", "models", "cart_item", "rb"],
        ),
        ("МойСервис", &["мойсервис", "мо", "сервис"]),
    ];
    for (text, expected) in cases {
        let found = terms(text);
        for term in *expected {
            assert!(found.iter().any(|t| t == term), "{text}: no {term} in {found:?}");
        }
    }
}

#[test]
fn inflections_meet_in_english_and_russian() {
    let pairs = [
        ("connections", "connecting"),
        ("the user's carts", "cart"),
        ("возвраты", "возврата"),
        ("платежами", "платежей"),
        ("ошибку", "ошибки"),
        ("расчёт", "расчетов"),
        ("listUsers", "user"),
        ("триггер корзины", "корзину"),
    ];
    for (a, b) in pairs {
        assert!(meet(a, b), "{a:?} {:?} and {b:?} {:?}", terms(a), terms(b));
    }
}

#[test]
fn words_that_share_nothing_do_not_meet() {
    for (a, b) in [("invoice", "involve"), ("платеж", "плата"), ("東京", "京都")] {
        assert!(!meet(a, b), "{a:?} and {b:?}");
    }
}

#[test]
fn a_surface_form_tells_a_noun_from_the_verb_it_is_stemmed_to() {
    assert_eq!(terms("Setting"), ["setting", "set"]);
    assert_eq!(terms("set"), ["set"]);
}

#[test]
fn scripts_without_blanks_become_pairs() {
    assert_eq!(terms("検索基盤"), ["検索", "索基", "基盤"]);
    assert_eq!(terms("鍵"), ["鍵"]);
    assert_eq!(terms("ｶｰﾄ"), ["カー", "ート"], "half-width kana are folded first");
    assert!(meet("APIキーの更新", "キー"));
    assert!(meet("APIキーの更新", "api"));
}

#[test]
fn decomposed_letters_are_composed() {
    assert_eq!(terms("и\u{306}од"), terms("йод"));
    assert_eq!(terms("cafe\u{301}"), terms("café"));
}

#[test]
fn all_forms_of_a_word_share_a_position_and_parts_follow() {
    let positions: Vec<(String, usize)> =
        analyse("call parse_url now").into_iter().map(|l| (l.text, l.position)).collect();
    let of = |term: &str| positions.iter().find(|(t, _)| t == term).map(|(_, p)| *p);
    assert_eq!(of("call"), Some(0));
    assert_eq!(of("parse_url"), Some(1));
    assert_eq!(of("pars"), Some(1));
    assert_eq!(of("url"), Some(2));
    assert_eq!(of("now"), Some(3));
}

#[test]
fn sentence_marks_join_nothing() {
    assert_eq!(terms("Done. Next: (foo), bar!"), ["done", "next", "foo", "bar"]);
}

#[test]
fn a_run_that_is_no_word_leaves_one_bounded_term() {
    let base64 = "aGVsbG8gd29ybGQ".repeat(400);
    let found = terms(&base64);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].len(), MAX_TERM_BYTES);
}

proptest! {
    #[test]
    fn any_text_gives_bounded_lower_case_terms_in_order(text in "\\PC{0,300}") {
        let lexemes = analyse(&text);
        prop_assert!(lexemes.iter().all(|l| !l.text.is_empty() && l.text.len() <= MAX_TERM_BYTES));
        prop_assert!(lexemes.is_sorted_by_key(|l| l.position));
    }

    #[test]
    fn case_never_separates_a_plain_word_from_itself(word in "[a-z]{2,12}") {
        prop_assert_eq!(terms(&word), terms(&word.to_uppercase()));
    }
}
