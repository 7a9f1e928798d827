//! Leave-one-out: what is found of a vendor or a country whose rules are missing.
//!
//! Each vendor and each country is left out in turn, and only its own rows are measured. The rows
//! do not name our rules, so a row belongs to the vendors whose rules find its secret, and to the
//! country whose numbers they find. A row that no such rule finds depends on none.

use std::collections::{BTreeMap, BTreeSet};

use mc_sanitizer::{Policy, Sanitizer, country};

use super::GENERIC_FORMATS;
use super::data::Positive;
use crate::harness::report::short;

/// The kind of rows with personal data.
const PERSONAL: &str = "pii";

/// The counts of the rows of one kind.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    rows: usize,
    /// Rows that belong to a vendor or a country.
    dependent: usize,
    found: usize,
    /// Rows whose secret is found without the rules of its own vendor or country.
    found_left_out: usize,
}

/// Returns a row of the table for each kind. Rows with personal data are divided: in some, a word
/// stands beside the value; others are bare numbers.
pub fn rows(positives: &[Positive], tell: bool) -> Vec<Vec<String>> {
    let mut sanitizers = Sanitizers::default();
    let mut kinds: BTreeMap<String, Counts> = BTreeMap::new();
    for row in positives {
        let outcome = sanitizers.measure(row);
        let kind = kind_of(row);
        if tell && outcome.found && !outcome.found_left_out {
            let rules: Vec<&str> = outcome.left_out.into_iter().collect();
            let secret = &row.secret;
            crate::harness::say(&format!("only by {}, {kind}: {secret}", rules.join(", ")));
        }
        let counts = kinds.entry(kind).or_default();
        counts.rows += 1;
        counts.dependent += usize::from(outcome.is_dependent);
        counts.found += usize::from(outcome.found);
        counts.found_left_out += usize::from(outcome.found_left_out);
    }
    kinds.into_iter().map(|(kind, counts)| table_row(kind, &counts)).collect()
}

fn table_row(kind: String, counts: &Counts) -> Vec<String> {
    let share = |count: usize| short(count as f64 / counts.rows.max(1) as f64);
    vec![
        kind,
        format!("{} of a vendor or country", counts.dependent),
        counts.rows.to_string(),
        share(counts.found),
        share(counts.found_left_out),
    ]
}

fn kind_of(row: &Positive) -> String {
    let kind = match (row.kind.as_str(), has_word(row)) {
        (PERSONAL, true) => ", with a word beside it",
        (PERSONAL, false) => ", bare",
        _ => "",
    };
    format!("left out: {}{kind}", row.kind)
}

/// Whether a word is in the text beside the secret.
fn has_word(row: &Positive) -> bool {
    let rest = row.text.replace(&row.secret, " ");
    let mut words = rest.split(|c: char| !c.is_alphabetic());
    words.any(|word| word.chars().count() >= 2)
}

/// The outcome of one row.
#[derive(Debug, PartialEq)]
struct Outcome {
    found: bool,
    is_dependent: bool,
    found_left_out: bool,
    /// The categories that were left out last.
    left_out: BTreeSet<&'static str>,
}

/// Sanitizers without some categories; the rules of each take a moment to compile.
#[derive(Default)]
struct Sanitizers(BTreeMap<BTreeSet<&'static str>, Sanitizer>);

impl Sanitizers {
    /// Leaves out the vendors and the country whose rules find the secret, until other rules find
    /// it or none does.
    fn measure(&mut self, row: &Positive) -> Outcome {
        let mut left_out = BTreeSet::new();
        let found = self.finds(row, &left_out);
        let mut found_left_out = found;
        while found_left_out {
            let own = self.own_categories(row, &left_out);
            if own.is_empty() {
                break;
            }
            left_out.extend(own);
            found_left_out = self.finds(row, &left_out);
        }
        Outcome { found, is_dependent: !left_out.is_empty(), found_left_out, left_out }
    }

    fn finds(&mut self, row: &Positive, left_out: &BTreeSet<&'static str>) -> bool {
        let masked = self.without(left_out).mask(&row.text, &Policy::strict());
        !masked.text.as_str().contains(&row.secret)
    }

    /// Returns the categories of the vendors that find the secret, and all those of its country.
    fn own_categories(
        &mut self,
        row: &Positive,
        left_out: &BTreeSet<&'static str>,
    ) -> BTreeSet<&'static str> {
        let sanitizer = self.without(left_out);
        let vendors: BTreeSet<&str> =
            sanitizer.formats().filter(|format| !GENERIC_FORMATS.contains(format)).collect();
        let findings = sanitizer.mask(&row.text, &Policy::strict()).findings;
        let at: Vec<usize> = row.text.match_indices(&row.secret).map(|(at, _)| at).collect();
        let touches = |span: &std::ops::Range<usize>| {
            at.iter().any(|at| span.start < at + row.secret.len() && *at < span.end)
        };
        let mut own = BTreeSet::new();
        for finding in findings.iter().filter(|finding| touches(&finding.span)) {
            match country(finding.category) {
                Some(country) => own.extend(of_country(sanitizer, country)),
                None if vendors.contains(finding.category) => {
                    own.insert(finding.category);
                }
                None => {}
            }
        }
        own
    }

    fn without(&mut self, left_out: &BTreeSet<&'static str>) -> &Sanitizer {
        self.0
            .entry(left_out.clone())
            .or_insert_with(|| Sanitizer::without(&left_out.iter().copied().collect::<Vec<_>>()))
    }
}

fn of_country<'s>(
    sanitizer: &'s Sanitizer,
    code: &'static str,
) -> impl Iterator<Item = &'static str> + 's {
    sanitizer.categories().filter(move |category| country(category) == Some(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kind: &str, text: &str, secret: &str) -> Positive {
        Positive { kind: kind.to_owned(), text: text.to_owned(), secret: secret.to_owned() }
    }

    fn outcome(kind: &str, text: &str, secret: &str) -> (bool, bool, bool) {
        let outcome = Sanitizers::default().measure(&row(kind, text, secret));
        (outcome.found, outcome.is_dependent, outcome.found_left_out)
    }

    /// Assembled, so that other scanners find no key in the sources.
    fn key() -> String {
        ["shpat", "_5f3a9c1e7b2d4f6a", "8c0e1b3d5a7c9e1f"].concat()
    }

    #[test]
    fn key_is_measured_without_the_rule_of_its_vendor() {
        let key = key();
        // A name finds the first, its prefix the second, and nothing but its own rule the third.
        let named = format!("acme_token = '{key}'");
        assert_eq!(outcome("scanner_tp", &named, &key), (true, true, true));
        let bare = format!("see {key}");
        assert_eq!(outcome("scanner_tp", &bare, &key), (true, true, true));
        let capitals = ["AKIA", "Z7Q4M2N6", "X5V6B3T7"].concat();
        let bare = format!("see {capitals}");
        assert_eq!(outcome("scanner_tp", &bare, &capitals), (true, true, false));
        let unknown = "acme_token = 'q8Zr2Lm0Tx5vB7nKc3Wd9Yh4'";
        let expected = (true, false, true);
        assert_eq!(outcome("scanner_tp", unknown, "q8Zr2Lm0Tx5vB7nKc3Wd9Yh4"), expected);
        assert_eq!(outcome("scanner_tp", "no key here", "key"), (false, false, false));
    }

    #[test]
    fn number_is_measured_without_the_rules_of_its_country() {
        // A word of several languages names the one.
        assert_eq!(outcome("pii", "tax id 500100732259", "500100732259"), (true, false, true));
        assert_eq!(outcome("pii", "536-90-4399", "536-90-4399"), (true, true, false));
        let german = "Steuer-ID 86095742719";
        assert_eq!(outcome("pii", german, "86095742719"), (true, true, true));
    }

    #[test]
    fn bare_numbers_are_counted_apart() {
        let kind = |text: &str| kind_of(&row("pii", text, "536-90-4399"));
        assert_eq!(kind("536-90-4399"), "left out: pii, bare");
        assert_eq!(kind("(536-90-4399)"), "left out: pii, bare");
        assert_eq!(kind("my 536-90-4399"), "left out: pii, with a word beside it");
        assert_eq!(kind_of(&row("weak_tp", "a", "a")), "left out: weak_tp");
    }

    #[test]
    fn all_rows_of_a_kind_are_counted() {
        let positives =
            [row("pii", "536-90-4399", "536-90-4399"), row("pii", "12", "12"), row("x", "y", "y")];
        let table = rows(&positives, false);
        assert_eq!(table.len(), 2);
        assert_eq!(
            table[0],
            ["left out: pii, bare", "1 of a vendor or country", "2", "0.500", "0"]
        );
    }
}
