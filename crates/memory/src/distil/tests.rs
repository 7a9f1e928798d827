#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn raw(content: &str) -> Raw<'_> {
    Raw {
        kind: RecordKind::Fact,
        content,
        title: None,
        scope: &[],
        tags: &[],
        files: &[],
        symbols: &[],
    }
}

#[test]
fn chatter_and_markup_go_and_the_statement_stays() {
    let text = "Hi team!\n\nSure, here is the summary:\n\n## Root cause\n\n**Причина nil**: расхождение \
                `delay_unit` и `trigger_delay_unit` in [settings](app/models/setting.rb).\n\n---\n\
                I hope this helps! Let me know if you have questions.\n<!-- draft -->";
    assert_eq!(
        distil(&raw(text)).content,
        "Root cause\nПричина nil: расхождение `delay_unit` и `trigger_delay_unit` in settings (app/models/setting.rb)."
    );
}

#[test]
fn code_and_lists_keep_their_shape() {
    let text = "Please note that the order matters:\n* run `a __b__ *c*`\n* [ ] then\n```ruby\n  x = *y*\n\n  z\n```\n";
    assert_eq!(
        distil(&raw(text)).content,
        "the order matters:\n- run `a __b__ *c*`\n- [ ] then\n```\n  x = *y*\n\n  z\n```"
    );
}

#[test]
fn nothing_but_chatter_leaves_nothing() {
    assert_eq!(distil(&raw("Hi there!\n\nThanks!\n\n---\nСпасибо!")).content, "");
}

#[test]
fn a_long_note_keeps_the_sentences_that_tell_most() {
    let filler = "It was a long day and people talked about many different things at some length. "
        .repeat(60);
    let text = format!(
        "{filler}The root cause is `Cart#total` in app/models/cart.rb: it must use BigDecimal, never Float. {filler}"
    );
    let content = distil(&raw(&text)).content;
    assert!(content.contains("`Cart#total` in app/models/cart.rb"), "{content}");
    assert!(content.chars().count() <= MAX_CHARS);
}

#[test]
fn scope_and_tags_are_added_to_those_given() {
    let given = (vec!["billing".to_owned()], vec!["Unit".to_owned()]);
    let distilled = distil(&Raw {
        scope: &given.0,
        tags: &given.1,
        files: &["app/services/cart_sessions/setting.rb"],
        ..raw(
            "Fixed the nil bug: `delay_unit` differs from CartSessions::Setting#trigger_delay_unit #unit",
        )
    });
    assert_eq!(distilled.scope, ["billing", "cart_sessions", "setting", "delay_unit"]);
    assert_eq!(distilled.tags, ["Unit", "bugfix"]);
}

#[test]
fn the_title_is_the_callers_or_the_first_sentence() {
    assert_eq!(distil(&raw("- Retries are off. They were too many.")).title, "Retries are off");
    assert_eq!(distil(&Raw { title: Some(" A\n title "), ..raw("x y") }).title, "A title");
}

proptest! {
    #[test]
    fn limits_hold_and_names_survive_when_there_is_room(
        text in "([ a-zA-Zа-я0-9.!?*_`#/\n-]{0,40}|😀){0,90}",
        name in "[a-z]{3,8}_[a-z]{3,8}",
    ) {
        let distilled = distil(&raw(&text));
        prop_assert!(distilled.content.chars().count() <= MAX_CHARS);
        prop_assert!(distilled.title.chars().count() <= TITLE_MAX_CHARS);
        let again = condense(&distilled.content, MAX_CHARS);
        prop_assert!(again.chars().count() <= MAX_CHARS);
        let sentence = format!("The value of `{name}` is wrong.");
        prop_assert!(condense(&sentence, MAX_CHARS).contains(&name));
    }
}
