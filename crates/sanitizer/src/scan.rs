//! Runs the rules over a text: keywords first, then the patterns of the rules whose keyword is there.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use regex::{Captures, Regex};

use crate::personal;
use crate::rules::{RULES, Rule};
use crate::{Class, Find, Profile};

/// What the rules find in `text`, in its order, not overlapping, none touching a placeholder.
///
/// Linear in the text: each pattern's repetitions are bounded wherever a match that its check
/// refuses is tried again further on.
pub(crate) fn scan(text: &str, profile: Profile) -> Vec<Find> {
    let engine = &*ENGINE;
    let placeholders: Vec<_> = engine.placeholder.find_iter(text).map(|m| m.range()).collect();
    let mut found: Vec<(Name, Range<usize>)> = Vec::new();
    for rank in engine.candidates(text) {
        let name = Name { rank, class: Class::Secret, category: RULES[rank].category };
        let spans = secrets(&engine.patterns[rank], &RULES[rank], text);
        found.extend(spans.map(|span| (name, span)));
    }
    if profile.personal {
        let name = |category| Name { rank: RULES.len(), class: Class::Personal, category };
        let data = personal::find(text, profile.addresses);
        found.extend(data.into_iter().map(|(category, span)| (name(category), span)));
    }
    found.retain(|(_, span)| !touches(&placeholders, span));
    found.extend(repetitions(text, &found, &placeholders));
    union(found)
}

/// What a find is; the lowest rank names text that several rules find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    rank: usize,
    class: Class,
    category: &'static str,
}

/// Shorter values are repeated by chance, longer ones (whole key blocks) are not repeated bare.
const REPEATED: Range<usize> = 12..513;

/// Where else the values in `found` stand: one that its name gave away once is no less secret
/// where it stands bare.
fn repetitions(
    text: &str,
    found: &[(Name, Range<usize>)],
    placeholders: &[Range<usize>],
) -> Vec<(Name, Range<usize>)> {
    let long = found.iter().filter(|(_, span)| REPEATED.contains(&span.len()));
    // Each value once, with its name: an automaton of thousands of equal ones would be slow.
    let names: BTreeMap<&str, Name> = long.map(|(name, s)| (&text[s.clone()], *name)).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let names: Vec<(&str, Name)> = names.into_iter().collect();
    let values = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(names.iter().map(|(value, _)| value))
        .expect("the values are shorter than the text");
    let again = values.find_iter(text).map(|hit| (names[hit.pattern().as_usize()].1, hit.range()));
    again.filter(|(_, span)| !touches(placeholders, span)).collect()
}

struct Engine {
    keywords: AhoCorasick,
    /// The rule of each keyword, by index into [`RULES`].
    owner: Vec<usize>,
    /// The pattern of each rule.
    patterns: Vec<Regex>,
    placeholder: Regex,
}

static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    let pattern = |text: &str| Regex::new(text).expect("the table's patterns are tested");
    let keywords: Vec<(usize, &str)> = (RULES.iter().enumerate())
        .flat_map(|(rank, rule)| rule.keywords.iter().map(move |&word| (rank, word)))
        .collect();
    Engine {
        keywords: AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .build(keywords.iter().map(|(_, word)| word))
            .expect("the table's keywords are few and short"),
        owner: keywords.iter().map(|&(rank, _)| rank).collect(),
        patterns: RULES.iter().map(|rule| pattern(rule.pattern)).collect(),
        placeholder: pattern(r"\[(?:secret|personal):[a-z0-9-]+\]"),
    }
});

impl Engine {
    /// The rules that have a keyword in `text`, in the table's order.
    fn candidates(&self, text: &str) -> Vec<usize> {
        let mut present = vec![false; RULES.len()];
        for hit in self.keywords.find_overlapping_iter(text) {
            present[self.owner[hit.pattern().as_usize()]] = true;
        }
        (0..RULES.len()).filter(|&rank| present[rank]).collect()
    }
}

/// The secrets that one rule finds: its group `s`, or the whole match without one.
fn secrets<'t>(
    pattern: &'t Regex,
    rule: &'t Rule,
    text: &'t str,
) -> impl Iterator<Item = Range<usize>> + 't {
    let mut from = 0;
    std::iter::from_fn(move || {
        while let Some(captures) = pattern.captures_at(text, from) {
            let (whole, secret) = ranges(&captures);
            let accepted = rule.check.accepts(&text[secret.clone()]);
            // A refused value may hold the name of a real one: `token = password = "..."`.
            let retry = !accepted && secret.start > whole.start;
            from = if retry { secret.start } else { whole.end };
            if accepted {
                return Some(secret);
            }
        }
        None
    })
}

fn ranges(captures: &Captures<'_>) -> (Range<usize>, Range<usize>) {
    let whole = captures.get_match().range();
    let secret = captures.name("s").map_or_else(|| whole.clone(), |group| group.range());
    (whole, secret)
}

/// Whether `span` overlaps one of `placeholders` (sorted, disjoint).
fn touches(placeholders: &[Range<usize>], span: &Range<usize>) -> bool {
    let next = placeholders.partition_point(|p| p.end <= span.start);
    placeholders.get(next).is_some_and(|p| p.start < span.end)
}

/// Joins overlapping spans; the rule that stands first in the table gives the category.
fn union(mut found: Vec<(Name, Range<usize>)>) -> Vec<Find> {
    found.sort_by_key(|(name, span)| (span.start, *name));
    let mut joined: Vec<(Name, Range<usize>)> = Vec::new();
    for (name, span) in found {
        match joined.last_mut() {
            Some((last_name, last)) if span.start < last.end => {
                last.end = last.end.max(span.end);
                *last_name = name.min(*last_name);
            }
            _ => joined.push((name, span)),
        }
    }
    let find = |(name, span): (Name, _)| Find { class: name.class, category: name.category, span };
    joined.into_iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles_and_no_rule_matches_nothing() {
        for (rule, pattern) in RULES.iter().zip(&ENGINE.patterns) {
            assert!(!pattern.is_match(""), "{} matches the empty text", rule.category);
            assert!(!rule.keywords.is_empty(), "{} never runs", rule.category);
        }
    }

    #[test]
    fn overlapping_finds_become_one_of_the_more_specific_category() {
        let name =
            |rank: usize| Name { rank, class: Class::Secret, category: RULES[rank].category };
        let finds = union(vec![(name(1), 4..12), (name(0), 6..14), (name(1), 20..24)]);
        assert_eq!(finds.len(), 2);
        assert_eq!((finds[0].category, finds[0].span.clone()), (RULES[0].category, 4..14));
    }
}
