use proptest::prelude::*;

use super::*;

fn terms(text: &str) -> Vec<String> {
    analyze(text).into_iter().map(|lexeme| lexeme.text).collect()
}

fn share_a_term(a: &str, b: &str) -> bool {
    let b = terms(b);
    terms(a).iter().any(|term| b.contains(term))
}

#[test]
fn identifiers_yield_the_whole_and_the_parts() {
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
fn inflections_share_a_term_in_english_and_russian() {
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
        assert!(share_a_term(a, b), "{a:?} {:?} and {b:?} {:?}", terms(a), terms(b));
    }
}

#[test]
fn unrelated_words_share_no_term() {
    for (a, b) in [("invoice", "involve"), ("платеж", "плата"), ("東京", "京都")] {
        assert!(!share_a_term(a, b), "{a:?} and {b:?}");
    }
}

#[test]
fn surface_form_distinguishes_words_with_the_same_stem() {
    assert_eq!(terms("Setting"), ["setting", "set"]);
    assert_eq!(terms("set"), ["set"]);
}

#[test]
fn scripts_without_blanks_yield_bigrams() {
    assert_eq!(terms("検索基盤"), ["検索", "索基", "基盤"]);
    assert_eq!(terms("鍵"), ["鍵"]);
    assert_eq!(terms("ｶｰﾄ"), ["カー", "ート"], "half-width kana are folded first");
    assert!(share_a_term("APIキーの更新", "キー"));
    assert!(share_a_term("APIキーの更新", "api"));
}

#[test]
fn decomposed_letters_are_composed() {
    assert_eq!(terms("и\u{306}од"), terms("йод"));
    assert_eq!(terms("cafe\u{301}"), terms("café"));
}

#[test]
fn forms_share_a_position_and_parts_are_consecutive() {
    let positions: Vec<(String, usize)> =
        analyze("call parse_url now").into_iter().map(|l| (l.text, l.position)).collect();
    let position = |term: &str| positions.iter().find(|(t, _)| t == term).map(|(_, p)| *p);
    assert_eq!(position("call"), Some(0));
    assert_eq!(position("parse_url"), Some(1));
    assert_eq!(position("pars"), Some(1));
    assert_eq!(position("url"), Some(2));
    assert_eq!(position("now"), Some(3));
}

#[test]
fn punctuation_joins_no_words() {
    assert_eq!(terms("Done. Next: (foo), bar!"), ["done", "next", "foo", "bar"]);
}

#[test]
fn long_run_yields_one_truncated_term() {
    let base64 = "aGVsbG8gd29ybGQ".repeat(400);
    let found = terms(&base64);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].len(), MAX_TERM_BYTES);
}

proptest! {
    #[test]
    fn any_text_yields_bounded_terms_in_order(text in "\\PC{0,300}") {
        let lexemes = analyze(&text);
        prop_assert!(lexemes.iter().all(|l| !l.text.is_empty() && l.text.len() <= MAX_TERM_BYTES));
        prop_assert!(lexemes.is_sorted_by_key(|l| l.position));
    }

    #[test]
    fn case_does_not_change_the_terms_of_a_word(word in "[a-z]{2,12}") {
        prop_assert_eq!(terms(&word), terms(&word.to_uppercase()));
    }
}
