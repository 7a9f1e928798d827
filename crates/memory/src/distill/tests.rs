#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn raw(content: &str) -> Raw<'_> {
    Raw::of_text(RecordKind::Fact, content)
}

#[test]
fn chatter_and_markup_are_removed_from_a_statement() {
    let text = "Hi team!\n\nSure, here is the summary:\n\n## Root cause\n\n**Причина nil**: \
        расхождение `delay_unit` и `trigger_delay_unit` in \
        [settings](app/models/setting.rb).\n\n---\nI hope this helps! Let me know if you have \
        questions.\n<!-- draft -->";
    assert_eq!(
        distill(&raw(text)).content,
        "Root cause\nПричина nil: расхождение `delay_unit` и `trigger_delay_unit` in settings \
            (app/models/setting.rb)."
    );
}

#[test]
fn code_and_lists_keep_their_shape() {
    let text = "Please note that the order matters:\n* run `a __b__ *c*`\n* [ ] then\n```ruby\n  \
        x = *y*\n\n  z\n```\n";
    assert_eq!(
        distill(&raw(text)).content,
        "the order matters:\n- run `a __b__ *c*`\n- [ ] then\n```ruby\n  x = *y*\n\n  z\n```"
    );
}

#[test]
fn text_of_only_chatter_becomes_empty() {
    assert_eq!(distill(&raw("Hi there!\n\nThanks!\n\n---\nСпасибо!")).content, "");
}

#[test]
fn every_sentence_of_a_note_is_kept_above_all_the_last() {
    let sentences = [
        "The nightly export began to fail in March.",
        "Hello World example needs the trailing newline, and so does the export.",
        "We looked at the disk first; it was fine!",
        "Should it be retried? No.",
        "- [x] the importer is done",
        "- [ ] the exporter waits",
        "Values >= 5 are refused, 1 != 2.",
        "`<!-- keep -->` has to precede the table.",
        "Never write the footer before the body is flushed",
    ];
    let distilled = distill(&raw(&format!("Hi team,\n\n{}", sentences.join("\n\n"))));
    for sentence in sentences {
        assert!(distilled.content.contains(sentence), "{sentence:?} of {}", distilled.content);
    }
    assert!(distilled.is_whole);
    assert_eq!(distilled.left_out, ["Hi team,"]);
}

#[test]
fn text_left_out_is_reported() {
    let distilled = distill(&raw(
        "Thanks!\n<!-- for the\nreviewer -->\nPlease note that retries are off.\nI hope this \
            helps.",
    ));
    assert_eq!(distilled.content, "retries are off.");
    let left_out =
        ["Thanks!", "<!-- for the\nreviewer -->", "Please note that", "I hope this helps."];
    assert_eq!(distilled.left_out, left_out);
}

#[test]
fn comments_and_images_inside_the_text_stay() {
    let text = "```xml\n<a>\n<!-- order matters -->\n</a>\n```\nSee ![the \
        flow](https://x.example/f.png).\n\
                The marker <!-- x --> precedes it.\n<!-- never closed";
    let content = distill(&raw(text)).content;
    for said in
        ["order matters", "the flow (https://x.example/f.png)", "<!-- x -->", "never closed"]
    {
        assert!(content.contains(said), "{said:?} of {content}");
    }
}

#[test]
fn long_note_keeps_informative_sentences_and_the_last_one() {
    let filler = "It was a long day and people talked about many different things at some length. "
        .repeat(60);
    let text = format!(
        "{filler}The root cause is `Cart#total` in app/models/cart.rb: it must use BigDecimal, \
            never Float. {filler}So the sum is made before the tax."
    );
    let distilled = distill(&raw(&text));
    let content = &distilled.content;
    assert!(!distilled.is_whole);
    assert!(content.contains("`Cart#total` in app/models/cart.rb"), "{content}");
    assert!(content.ends_with("So the sum is made before the tax."), "{content}");
    assert!(content.chars().count() <= MAX_CHARS);
}

#[test]
fn derived_scope_and_tags_are_added_to_given_ones() {
    let given = (vec!["billing".to_owned()], vec!["Unit".to_owned()]);
    let distilled = distill(&Raw {
        scope: &given.0,
        tags: &given.1,
        files: &["app/services/cart_sessions/setting.rb"],
        ..raw("Fixed the nil bug: `delay_unit` differs from \
                CartSessions::Setting#trigger_delay_unit #unit")
    });
    assert_eq!(distilled.scope, ["billing", "cart_sessions", "setting", "delay_unit"]);
    assert_eq!(distilled.tags, ["Unit", "bugfix"]);
}

#[test]
fn title_is_the_given_one_or_the_first_sentence() {
    assert_eq!(distill(&raw("- Retries are off. They were too many.")).title, "Retries are off");
    assert_eq!(distill(&Raw { title: Some(" A\n title "), ..raw("x y") }).title, "A title");
}

proptest! {
    #[test]
    fn distilled_text_is_within_limits_and_keeps_names(
        text in "([ a-zA-Zа-я0-9.!?*_`#/\n-]{0,40}|😀){0,90}",
        name in "[a-z]{3,8}_[a-z]{3,8}",
    ) {
        let distilled = distill(&raw(&text));
        prop_assert!(distilled.content.chars().count() <= WHOLE_MAX_CHARS);
        prop_assert!(distilled.title.chars().count() <= TITLE_MAX_CHARS);
        let again = condense(&distilled.content, MAX_CHARS);
        prop_assert!(again.chars().count() <= MAX_CHARS);
        let sentence = format!("The value of `{name}` is wrong.");
        prop_assert!(condense(&sentence, MAX_CHARS).contains(&name));
    }
}
