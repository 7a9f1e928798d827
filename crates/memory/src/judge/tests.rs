//! The judge on generated sets: notes from templates that differ in an identifier, a number, a name
//! or a denial, and paraphrases of them.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::normalize::content_hash;

/// Templates: `{c}` is a component, `{o}` another, `{n}` a number, `{i}` an issue key.
const TEMPLATES: &[&str] = &[
    "Decision {i}: the {c} service retries failed calls to {o} {n} times with jitter, because \
        its gateway drops connections under load.",
    "The {c} worker must take the lock before it touches the {o} table, otherwise two workers \
        charge the customer twice ({i}).",
    "Timeout of the {c} client is {n} seconds; the {o} proxy closes idle connections after that.",
    "Do not cache {c} responses in Redis, they depend on the current {o} of the shop.",
    "Cache {c} responses in Redis for {n} minutes, they are expensive to build from {o}.",
    "`{c}_unit` and `{o}_unit` must agree, a mismatch gives nil in app/models/{c}.rb.",
    "Migration {i} adds the column {c}_id to {o}; it runs concurrently and takes about {n} \
        minutes in production.",
    "The nightly export of {c} to {o} fails when the file is larger than {n} MB, split it first.",
    "Воркер {c} повторяет запрос к {o} {n} раза, потому что шлюз теряет соединения под нагрузкой.",
    "Не используйте {c} напрямую, вызывайте {o} через фасад: иначе теряется аудит ({i}).",
    "Причина ошибки {i}: расхождение {c}_unit и {o}_unit в настройках магазина.",
    "Отчёт по {c} строится {n} минут, поэтому считаем его ночью и кладём в {o}.",
];
const COMPONENTS: &[&str] =
    &["payments", "invoices", "orders", "sessions", "discounts", "shipping", "catalog", "billing"];

fn notes() -> Vec<String> {
    let mut notes = Vec::new();
    for (t, template) in TEMPLATES.iter().enumerate() {
        for (c, component) in COMPONENTS.iter().enumerate() {
            for step in 1..4 {
                let other = COMPONENTS[(c + step) % COMPONENTS.len()];
                let number = 2 + 3 * step + t;
                let issue = format!("CS-{}", 100 * t + 10 * c + step);
                notes.push(
                    template
                        .replace("{c}", component)
                        .replace("{o}", other)
                        .replace("{n}", &number.to_string())
                        .replace("{i}", &issue),
                );
            }
        }
    }
    notes
}

/// Ways to paraphrase a note.
type Retelling = (&'static str, fn(&str) -> String);
const PARAPHRASES: &[Retelling] = &[
    ("upper case", |note| note.to_uppercase()),
    ("spacing", |note| note.replace(' ', "  \n")),
    ("no punctuation", |note| {
        note.replace([',', '.', ';', '('], "").replace(": ", " ").replace(')', "")
    }),
    ("politeness", |note| format!("Hi team, please note that {note} Thanks!")),
    ("politeness, ru", |note| format!("Коллеги, обратите внимание: {note} Спасибо!")),
    ("clauses turned round", |note| {
        let bare = note.trim_end_matches('.');
        match bare.split_once(", ") {
            Some((head, tail)) => format!("{tail}, {head}."),
            None => bare
                .split_once("; ")
                .map_or(note.to_owned(), |(head, tail)| format!("{tail}; {head}.")),
        }
    }),
    ("letters swapped", |note| {
        typo(note, |w| {
            w.swap(2, 3);
        })
    }),
    ("a letter lost", |note| {
        typo(note, |w| {
            w.remove(3);
        })
    }),
    ("a letter doubled", |note| {
        typo(note, |w| {
            let c = w[2];
            w.insert(2, c);
        })
    }),
    ("numbers in other words", |note| note.replace(" 5 ", " five ").replace(" seconds", "s")),
    ("other quotes", |note| note.replace('`', "\"")),
    ("articles dropped", |note| note.replace(" the ", " ").replace(" a ", " ").replace("The ", "")),
];

/// Misspells the longest plain word.
fn typo(note: &str, change: fn(&mut Vec<char>)) -> String {
    let words = note.split(' ').filter(|word| word.chars().all(char::is_alphabetic));
    let Some(longest) = words.max_by_key(|word| word.chars().count()) else {
        return note.to_owned();
    };
    let mut letters: Vec<char> = longest.chars().collect();
    change(&mut letters);
    note.replacen(longest, &letters.iter().collect::<String>(), 1)
}

pub(super) fn known(content: &str, cosine: Option<f32>) -> Known {
    Known {
        id: RecordId::generate(),
        kind: RecordKind::Fact,
        trust: Trust::Team,
        note: Arc::new(ParsedNote::read(content)),
        content_hash: content_hash(content),
        cosine,
    }
}

pub(super) fn incoming(content: &str) -> Candidate {
    Candidate {
        kind: RecordKind::Fact,
        note: Arc::new(ParsedNote::read(content)),
        content_hash: content_hash(content),
        contradicts: false,
        supersedes: None,
        usefulness: 0.5,
        verdict: None,
    }
}

#[test]
fn paraphrases_are_recognized_as_duplicates() {
    let (mut total, mut found) = (0, 0);
    let mut missed = Vec::new();
    for note in notes() {
        let record = known(&note, Some(0.9));
        for (name, paraphrase) in PARAPHRASES {
            total += 1;
            let text = paraphrase(&note);
            match judge(&incoming(&text), std::slice::from_ref(&record)).action {
                Action::Merge { .. } => found += 1,
                Action::Create => missed.push(format!("{name}: {text}")),
            }
        }
    }
    missed.truncate(10);
    assert!(found * 100 >= total * 95, "{found} of {total}; such as {missed:#?}");
}

#[test]
fn distinct_notes_of_one_template_stay_apart() {
    let notes: Vec<_> = notes().iter().map(|note| ParsedNote::read(note)).collect();
    let mut pairs = 0_u32;
    let mut wrong = Vec::new();
    for (at, a) in notes.iter().enumerate() {
        for b in &notes[at + 1..] {
            pairs += 1;
            if compare(a, b).difference.is_none() {
                wrong.push((a.normalized(), b.normalized()));
            }
        }
    }
    assert!(pairs > 40_000);
    assert!(wrong.is_empty(), "{} of {pairs}, such as {:?}", wrong.len(), wrong.first());
}

#[test]
fn paraphrase_of_one_note_never_merges_into_another() {
    let notes = notes();
    for (at, note) in notes.iter().enumerate().step_by(5) {
        let neighbours: Vec<_> = notes
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at)
            .map(|(_, n)| known(n, Some(0.97)))
            .collect();
        for (name, paraphrase) in PARAPHRASES.iter().step_by(3) {
            let text = paraphrase(note);
            let judgment = judge(&incoming(&text), &neighbours);
            assert_eq!(judgment.action, Action::Create, "{name}: {text}: {}", judgment.reason);
        }
    }
}

#[test]
fn exact_duplicate_merges_whatever_its_kind() {
    let record = known("The queue is FIFO per shop", None);
    let mut note = incoming("the queue is FIFO, per shop!");
    for (kind, contradicts) in [(RecordKind::Fact, true), (RecordKind::Fewshot, false)] {
        note.kind = kind;
        note.contradicts = contradicts;
        let judgment = judge(&note, std::slice::from_ref(&record));
        assert_eq!(judgment.action, Action::Merge { into: record.id, basis: MergeBasis::Hash });
        assert!((judgment.scores.dup - 1.0).abs() < f32::EPSILON && judgment.supersede.is_empty());
    }
}

#[test]
fn near_duplicate_of_another_kind_merges_only_among_statements() {
    let record = known("The payments queue is FIFO per shop", None);
    let mut note = incoming("Please note that the payments queue is a FIFO per shop: shop");
    note.kind = RecordKind::Rule;
    assert!(matches!(
        judge(&note, std::slice::from_ref(&record)).action,
        Action::Merge { basis: MergeBasis::Words, .. }
    ));
    note.kind = RecordKind::Fewshot;
    let content = "Thanks, the payments queue is FIFO per shops";
    note.note = Arc::new(ParsedNote::read(content));
    note.content_hash = content_hash(content);
    assert_eq!(judge(&note, std::slice::from_ref(&record)).action, Action::Create);
}

#[test]
fn contradiction_replaces_only_the_nearest_related_record() {
    let near = known("Retries of the payments worker are enabled in staging", Some(0.9));
    let far = known("Cart sessions expire after the delay of the shop", Some(0.1));
    let mut note = incoming("Retries of the payments worker are not enabled in staging");
    note.contradicts = true;
    let judgment = judge(&note, &[far.clone(), near.clone()]);
    assert_eq!((judgment.action, judgment.supersede), (Action::Create, vec![near.id]));
    let judgment = judge(&note, std::slice::from_ref(&far));
    assert!(judgment.supersede.is_empty());
    assert!(judgment.reason.contains("near enough"), "{}", judgment.reason);
}

#[test]
fn contradiction_replaces_no_example_and_needs_shared_words() {
    let mut example = known("Retries of the payments worker are enabled in staging", Some(0.9));
    example.kind = RecordKind::Fewshot;
    let unlike = known("Charges are attempted anew by the billing daemon", Some(0.9));
    let mut note = incoming("Retries of the payments worker are not enabled in staging");
    note.contradicts = true;
    assert_eq!(judge(&note, &[example, unlike]).supersede, []);
}

#[test]
fn known_contradiction_replaces_nothing() {
    let text = "Retries of the payments worker are not enabled in staging";
    let (twin, near) = (known(text, Some(1.0)), known(&text.replace("not ", ""), Some(0.9)));
    let mut note = incoming(text);
    note.contradicts = true;
    let judgment = judge(&note, &[near, twin]);
    assert_eq!(judgment.supersede, []);
    assert!(judgment.reason.contains("supersedes"), "{}", judgment.reason);
}

#[test]
fn explicitly_superseded_record_is_no_merge_target() {
    let record = known("Timeouts of the client are 30 seconds in production", Some(0.99));
    let mut note =
        incoming("Please note: timeouts of the client are 30 seconds in production since spring");
    note.supersedes = Some(record.id);
    let judgment = judge(&note, std::slice::from_ref(&record));
    assert_eq!((judgment.action, judgment.supersede), (Action::Create, vec![record.id]));
}

#[test]
fn distant_vector_prevents_a_merge_of_similar_words() {
    let record = known("The payments queue is FIFO per shop", Some(0.2));
    let note = incoming("the payments queue is FIFO per shop, shops");
    let judgment = judge(&note, std::slice::from_ref(&record));
    assert!(matches!(
        judgment.action,
        Action::Create | Action::Merge { basis: MergeBasis::Hash, .. }
    ));
}

proptest! {
    #[test]
    fn scores_are_fractions_and_the_judge_never_fails(
        text in "\\PC{0,120}", other in "\\PC{0,120}", cosine in -1.0f32..1.0,
    ) {
        let judgment = judge(&incoming(&text), &[known(&other, Some(cosine)), known(&text, None)]);
        for score in [judgment.scores.novelty, judgment.scores.dup, judgment.scores.usefulness] {
            prop_assert!((0.0..=1.0).contains(&score));
        }
        let hash = MergeBasis::Hash;
        let merged_exactly =
            matches!(judgment.action, Action::Merge { basis, .. } if basis == hash);
        prop_assert!(merged_exactly);
    }

    #[test]
    fn one_changed_number_or_key_keeps_notes_apart(
        a in 0u32..10_000, b in 0u32..10_000, words in "[a-z]{4,9}( [a-z]{4,9}){4,14}",
    ) {
        prop_assume!(a != b);
        let keys = (format!("E{a:04}"), format!("E{b:04}"));
        for (left, right) in [keys, (a.to_string(), b.to_string())] {
            let (left, right) = (format!("decision {left} {words}"), format!("decision {right} \
                {words}"));
            let judgment = judge(&incoming(&left), &[known(&right, Some(0.99))]);
            prop_assert_eq!(judgment.action, Action::Create);
        }
    }
}
