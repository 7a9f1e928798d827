//! Runs the rules over a text: keywords first, then the patterns and names that they call for.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use regex::Regex;

use crate::allowlist::Lines;
use crate::keyword_scan::KeywordScan;
use crate::rules::{Rule, Rules};
use crate::{Class, Finding, Policy, assignment, decode, personal_data, randomness, unlabeled};

/// What the rules find in `text` that the policy doesn't allow: in its order, not overlapping, none
/// touching a placeholder.
pub(crate) fn scan(rules: &Rules, text: &str, policy: &Policy) -> Vec<Finding> {
    let placeholders: Vec<_> = PLACEHOLDER.find_iter(text).map(|m| m.range()).collect();
    let reading = rules.read_text(text);
    let mut found = secrets(rules, &reading);
    let addresses = policy.wants(personal_data::ADDRESS, Class::Personal);
    let personal = policy.wants_personal().then_some(Personal { addresses });
    found.extend(decode::disguised(rules, &reading, personal));
    found.extend(personal.into_iter().flat_map(|wanted| wanted.find(rules, text)));
    found.retain(|Ranked { find, .. }| {
        let value = &text[find.span.clone()];
        policy.wants(find.category, find.class)
            && !touches(&placeholders, &find.span)
            && !rules.allowed.holds(value)
            && !policy.allowed.holds(value)
    });
    found.extend(repetitions(text, &found, &placeholders));
    let mut finds = union(found);
    if policy.honours_comments() && !finds.is_empty() {
        let lines = Lines::with_comment(text);
        finds.retain(|find| !lines.spare(find));
    }
    finds
}

/// A placeholder of ours, as [`mask`](crate::mask()) writes it.
static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\[(?:secret|personal):[a-z0-9-]+\]").expect("a pattern of this file")
});

/// A find, and the rank of the rule that made it: the lowest names text that several find.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ranked {
    pub rank: usize,
    pub find: Finding,
}

/// Which personal data are looked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Personal {
    /// IP addresses as well.
    addresses: bool,
}

impl Personal {
    /// Those that stand in a text as they are; spans may overlap.
    pub fn find(self, rules: &Rules, text: &str) -> impl Iterator<Item = Ranked> {
        let rank = rules.formats.len() + 1;
        personal_data::find(text, self.addresses).into_iter().map(move |find| Ranked { rank, find })
    }
}

/// The secrets that stand in a text as they are; spans may overlap.
pub(crate) fn secrets(rules: &Rules, reading: &KeywordScan<'_>) -> Vec<Ranked> {
    let mut found = of_formats(rules, reading);
    found.extend(of_names(rules, reading));
    let rank = rules.formats.len();
    found.extend(
        unlabeled::values(reading, &rules.names)
            .map(|span| Ranked { rank, find: secret(VALUE, span, unlabeled::CONFIDENCE) }),
    );
    found
}

fn of_formats(rules: &Rules, reading: &KeywordScan<'_>) -> Vec<Ranked> {
    let each = reading.windows.iter();
    each.flat_map(|(rank, windows)| of_format(rules, *rank, reading.text, windows)).collect()
}

/// The secrets of the format of one rank within the windows.
pub(crate) fn of_format(
    rules: &Rules,
    rank: usize,
    text: &str,
    windows: &[Range<usize>],
) -> Vec<Ranked> {
    let rule = &rules.formats[rank];
    let found = matches(rules, rule, text, windows).into_iter();
    let ranked = found.map(|(span, factor)| Ranked {
        rank,
        find: secret(rule.category, span, rule.confidence * factor),
    });
    ranked.collect()
}

/// The categories of what no format names.
pub(crate) const PASSWORD: &str = "password";
pub(crate) const VALUE: &str = "secret-value";

fn of_names(rules: &Rules, reading: &KeywordScan<'_>) -> Vec<Ranked> {
    let rank = rules.formats.len();
    let mut found = Vec::new();
    for (word, strength) in &reading.words {
        for assigned in assignment::secrets(reading.text, word.clone(), *strength, &rules.names) {
            let category = if assigned.chosen { PASSWORD } else { VALUE };
            let find = secret(category, assigned.span, assigned.confidence);
            found.push(Ranked { rank, find });
        }
    }
    found
}

fn secret(category: &'static str, span: Range<usize>, confidence: f32) -> Finding {
    Finding { class: Class::Secret, category, span, confidence }
}

/// What one format's pattern matches and its check accepts within the windows, with the factor on
/// the confidence.
fn matches(
    rules: &Rules,
    rule: &Rule,
    text: &str,
    windows: &[Range<usize>],
) -> Vec<(Range<usize>, f32)> {
    let mut found = Vec::new();
    let mut from = 0;
    for window in windows {
        from = from.max(text.floor_char_boundary(window.start));
        let mut end = text.ceil_char_boundary(window.end);
        while from < end {
            let Some(captures) = rule.pattern.captures_at(&text[..end], from) else { break };
            let whole = captures.get_match().range();
            if whole.end == end && end < text.len() {
                // Cut off. Each time thrice as much, so that the whole stays linear.
                end = text.ceil_char_boundary((whole.end + 2 * whole.len()).min(text.len()));
                continue;
            }
            let secret = captures.name("s").map_or_else(|| whole.clone(), |group| group.range());
            let value = &text[secret.clone()];
            let is_varied = randomness::entropy(value) >= rule.entropy;
            let accepted = rule.check.accepts(value, &rules.names).filter(|_| is_varied);
            // A refused value may hold the beginning of a real one.
            let retry = accepted.is_none() && secret.start > whole.start;
            from = if retry { secret.start } else { whole.end };
            found.extend(accepted.map(|factor| (secret, factor)));
        }
    }
    found
}

/// Shorter values are repeated by chance, longer ones (whole key blocks) are not repeated bare.
const REPEATED: Range<usize> = 12..513;

/// Where else the values in `found` stand: one that its name gave away once is no less secret
/// where it stands bare.
fn repetitions(text: &str, found: &[Ranked], placeholders: &[Range<usize>]) -> Vec<Ranked> {
    let long = found.iter().filter(|ranked| REPEATED.contains(&ranked.find.span.len()));
    // Each value once: an automaton of thousands of equal ones would be slow.
    let values: BTreeMap<&str, &Ranked> =
        long.map(|ranked| (&text[ranked.find.span.clone()], ranked)).collect();
    if values.is_empty() {
        return Vec::new();
    }
    let values: Vec<(&str, &Ranked)> = values.into_iter().collect();
    let automaton = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(values.iter().map(|(value, _)| value))
        .expect("the values are shorter than the text");
    let again = automaton.find_iter(text).map(|hit| {
        let Ranked { rank, find } = values[hit.pattern().as_usize()].1;
        Ranked { rank: *rank, find: Finding { span: hit.range(), ..find.clone() } }
    });
    again.filter(|ranked| !touches(placeholders, &ranked.find.span)).collect()
}

/// Whether `span` overlaps one of `placeholders` (sorted, disjoint).
fn touches(placeholders: &[Range<usize>], span: &Range<usize>) -> bool {
    let next = placeholders.partition_point(|p| p.end <= span.start);
    placeholders.get(next).is_some_and(|p| p.start < span.end)
}

/// Joins overlapping spans; the rule of the lowest rank gives the category, the surest the confidence.
fn union(mut found: Vec<Ranked>) -> Vec<Finding> {
    found.sort_by(|a, b| {
        (a.find.span.start, a.rank, a.find.category).cmp(&(
            b.find.span.start,
            b.rank,
            b.find.category,
        ))
    });
    let mut joined: Vec<Ranked> = Vec::new();
    for next in found {
        match joined.last_mut() {
            Some(last) if next.find.span.start < last.find.span.end => {
                let span = last.find.span.start..last.find.span.end.max(next.find.span.end);
                let confidence = last.find.confidence.max(next.find.confidence);
                if next.rank < last.rank {
                    *last = next;
                }
                last.find.span = span;
                last.find.confidence = confidence;
            }
            _ => joined.push(next),
        }
    }
    joined.into_iter().map(|ranked| ranked.find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_finds_become_one_of_the_more_specific_category() {
        let ranked = |rank, category: &'static str, span, confidence| Ranked {
            rank,
            find: Finding { class: Class::Secret, category, span, confidence },
        };
        let finds = union(vec![
            ranked(1, "b", 4..12, 0.9),
            ranked(0, "a", 6..14, 0.5),
            ranked(1, "b", 20..24, 0.9),
        ]);
        assert_eq!(finds.len(), 2);
        assert_eq!((finds[0].category, finds[0].span.clone()), ("a", 4..14));
        assert!((finds[0].confidence - 0.9).abs() < 1e-6);
    }
}
