//! Applies the rules to a text: keywords first, then the regexes and names near them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::Regex;

use crate::allowlist::AllowedLines;
use crate::assignment::Strength;
use crate::keyword_scan::KeywordScan;
use crate::rules::{Rule, Rules};
use crate::{
    Class, Finding, Policy, assignment, decode, mnemonic, personal_data, randomness, unlabeled,
};

/// Returns the findings in `text` that the policy does not allow, in text order. None overlaps
/// another one or a placeholder.
pub(crate) fn scan(rules: &Rules, text: &str, policy: &Policy) -> Vec<Finding> {
    let placeholders: Vec<_> = PLACEHOLDER.find_iter(text).map(|m| m.range()).collect();
    let scan = rules.scan_keywords(text);
    let mut found = secrets(rules, &scan);
    let ip_addresses = policy.wants(personal_data::ADDRESS, Class::Personal);
    let personal = policy.wants_personal().then_some(Personal { ip_addresses });
    found.extend(decode::find_in_views(rules, &scan, personal));
    found.extend(personal.into_iter().flat_map(|wanted| wanted.find(rules, text)));
    found.retain(|Ranked { finding, .. }| {
        let value = &text[finding.span.clone()];
        policy.wants(finding.category, finding.class)
            && !touches(&placeholders, &finding.span)
            && !rules.allowed.contains(value)
            && !policy.allowed.contains(value)
    });
    found.extend(repetitions(text, &found, &placeholders));
    let mut findings = union(found);
    if policy.comments && !findings.is_empty() {
        let lines = AllowedLines::find(text);
        findings.retain(|finding| !lines.allow(finding));
    }
    findings
}

/// A placeholder, as [`mask`](crate::mask()) writes it.
static PLACEHOLDER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\[(?:secret|personal):[a-z0-9-]+\]").expect("a valid regex"));

/// A finding and the rank of its rule. Of overlapping findings, the lowest rank gives the category.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ranked {
    pub rank: usize,
    pub finding: Finding,
}

/// The selection of personal data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Personal {
    /// Whether IP addresses are included.
    ip_addresses: bool,
}

impl Personal {
    /// Returns the personal data in a text, without its views; spans may overlap.
    pub fn find(self, rules: &Rules, text: &str) -> impl Iterator<Item = Ranked> {
        let rank = rules.formats.len() + 1;
        personal_data::find(text, self.ip_addresses, &rules.excluded)
            .into_iter()
            .map(move |finding| Ranked { rank, finding })
    }
}

/// Returns the secrets in a text, without its views; spans may overlap.
pub(crate) fn secrets(rules: &Rules, scan: &KeywordScan<'_>) -> Vec<Ranked> {
    let windows = scan.windows.iter();
    let mut found: Vec<Ranked> =
        windows.flat_map(|(rank, windows)| of_format(rules, *rank, scan.text, windows)).collect();
    found.extend(of_names(rules, scan));
    let rank = rules.formats.len();
    found.extend(
        unlabeled::values(scan, &rules.names)
            .map(|span| Ranked { rank, finding: secret(VALUE, span, unlabeled::CONFIDENCE) }),
    );
    found.extend(mnemonic::phrases(scan.text).into_iter().map(|span| Ranked {
        rank,
        finding: secret(mnemonic::CATEGORY, span, mnemonic::CONFIDENCE),
    }));
    found
}

/// Returns the secrets of one format within the windows.
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
        finding: secret(rule.category, span, rule.confidence * factor),
    });
    ranked.collect()
}

/// The categories of secrets without a format.
pub(crate) const PASSWORD: &str = "password";
pub(crate) const VALUE: &str = "secret-value";

fn of_names(rules: &Rules, scan: &KeywordScan<'_>) -> Vec<Ranked> {
    let rank = rules.formats.len();
    let of_word = |(word, strength): &(Range<usize>, Strength)| {
        assignment::secrets(scan.text, word.clone(), *strength, &rules.names)
    };
    let assigned = scan.words.iter().flat_map(of_word);
    let assigned = assigned
        .chain(assignment::secrets_in_columns(scan, &rules.names))
        .chain(assignment::secrets_in_documents(scan, &rules.names));
    let ranked = assigned.map(|assigned| {
        let category = if assigned.human_chosen { PASSWORD } else { VALUE };
        Ranked { rank, finding: secret(category, assigned.span, assigned.confidence) }
    });
    ranked.collect()
}

fn secret(category: &'static str, span: Range<usize>, confidence: f32) -> Finding {
    Finding { class: Class::Secret, category, span, confidence }
}

/// Returns the matches of a rule within the windows that its validator accepts, with the factor on
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
            // Captures need memory of their own, and most windows have no match.
            if !rule.regex.is_match_at(&text[..end], from) {
                break;
            }
            let Some(captures) = rule.regex.captures_at(&text[..end], from) else { break };
            let whole = captures.get_match().range();
            if whole.end == end && end < text.len() {
                // The window cuts the match off. Tripling its length keeps the total linear.
                end = text.ceil_char_boundary((whole.end + 2 * whole.len()).min(text.len()));
                continue;
            }
            let secret = captures.name("s").map_or_else(|| whole.clone(), |group| group.range());
            let value = &text[secret.clone()];
            let is_varied = randomness::entropy(value) >= rule.min_entropy;
            let accepted = rule.validator.accepts(value, &rules.names).filter(|_| is_varied);
            // A rejected value may contain the beginning of a real one.
            let retry = accepted.is_none() && secret.start > whole.start;
            // The character after the secret may be the one before the next secret.
            let after = if secret.is_empty() { whole.end } else { secret.end };
            from = if retry { secret.start } else { after };
            found.extend(accepted.map(|factor| (secret, factor)));
        }
    }
    found
}

/// Lengths of values whose repetitions are searched, in bytes. Shorter values are repeated by
/// chance; longer ones are whole key blocks, which are not repeated without their frame.
const REPEATED: Range<usize> = 12..513;

/// Finds the other occurrences of the values in `found`: a value that was found by its name is
/// secret without the name as well.
fn repetitions(text: &str, found: &[Ranked], placeholders: &[Range<usize>]) -> Vec<Ranked> {
    // In reverse, so that of equal values the first one counts, which is in the text itself.
    let long = found.iter().rev().filter(|one| REPEATED.contains(&one.finding.span.len()));
    // Each value once: an automaton of thousands of equal values would be slow.
    let values: BTreeMap<&str, &Ranked> =
        long.map(|ranked| (&text[ranked.finding.span.clone()], ranked)).collect();
    if values.is_empty() {
        return Vec::new();
    }
    let values: Vec<(&str, &Ranked)> = values.into_iter().collect();
    let automaton = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        // It is used once, and a DFA takes longer to build.
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .build(values.iter().map(|(value, _)| value))
        .expect("the values are shorter than the text");
    let again = automaton.find_iter(text).map(|hit| {
        let Ranked { rank, finding } = values[hit.pattern().as_usize()].1;
        Ranked { rank: *rank, finding: Finding { span: hit.range(), ..finding.clone() } }
    });
    again.filter(|ranked| !touches(placeholders, &ranked.finding.span)).collect()
}

/// Whether `span` overlaps one of `placeholders` (sorted, disjoint).
fn touches(placeholders: &[Range<usize>], span: &Range<usize>) -> bool {
    let next = placeholders.partition_point(|p| p.end <= span.start);
    placeholders.get(next).is_some_and(|p| p.start < span.end)
}

/// Merges overlapping findings. The lowest rank gives the category; the highest confidence counts.
fn union(mut found: Vec<Ranked>) -> Vec<Finding> {
    found.sort_by_key(|ranked| (ranked.finding.span.start, ranked.rank, ranked.finding.category));
    let mut joined: Vec<Ranked> = Vec::new();
    for next in found {
        match joined.last_mut() {
            Some(last) if next.finding.span.start < last.finding.span.end => {
                let span =
                    last.finding.span.start..last.finding.span.end.max(next.finding.span.end);
                let confidence = last.finding.confidence.max(next.finding.confidence);
                if next.rank < last.rank {
                    *last = next;
                }
                last.finding.span = span;
                last.finding.confidence = confidence;
            }
            _ => joined.push(next),
        }
    }
    joined.into_iter().map(|ranked| ranked.finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_findings_get_the_category_of_the_lowest_rank() {
        let ranked = |rank, category: &'static str, span, confidence| Ranked {
            rank,
            finding: Finding { class: Class::Secret, category, span, confidence },
        };
        let findings = union(vec![
            ranked(1, "b", 4..12, 0.9),
            ranked(0, "a", 6..14, 0.5),
            ranked(1, "b", 20..24, 0.9),
        ]);
        assert_eq!(findings.len(), 2);
        assert_eq!((findings[0].category, findings[0].span.clone()), ("a", 4..14));
        assert!((findings[0].confidence - 0.9).abs() < 1e-6);
    }
}
