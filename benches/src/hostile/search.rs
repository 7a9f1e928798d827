//! Random search: mixed families, until a time is over.

use std::time::{Duration, Instant};

use anyhow::Result;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};

use super::measure::Plan;
use super::pairs::{self, Measurement, Pair, Selection};
use super::parsers::Parser;
use crate::growth::families::{Family, UNITS, blocks, sequence};
use crate::harness::say;

/// Factors of the lengths of a pair. Pairs above the limit are measured again with more lengths.
const FACTORS: &[usize] = &[1, 4];
/// Most families of a search, more than any search has time for.
const MAX_FAMILIES: usize = 20_000;
/// Most repetitions of a part.
const MAX_REPETITIONS: usize = 4;

/// Returns the families of a seed. Each mixes two or three parts of the fixed families.
pub fn families(seed: u64) -> Vec<Family> {
    let mut random = StdRng::seed_from_u64(seed);
    (0..MAX_FAMILIES).map(|_| mixed(&mut random)).collect()
}

fn mixed(random: &mut StdRng) -> Family {
    let count = random.random_range(2..=3);
    let parts: Vec<_> = UNITS
        .choose_multiple(random, count)
        .map(|unit| (*unit, random.random_range(1..=MAX_REPETITIONS)))
        .collect();
    if random.random() { sequence(&parts) } else { blocks(&parts) }
}

/// Measures the chosen parsers for one family after the other, at least for one. Returns the pairs
/// with their measurements, parser by parser.
pub fn measure<'a>(
    plan: &Plan,
    selection: Selection<'_>,
    parsers: &'a [Parser],
    families: &'a [Family],
    threads: usize,
    duration: Duration,
) -> Result<(Vec<Pair<'a>>, Vec<Measurement<'a>>)> {
    let plan = Plan { factors: FACTORS, ..*plan };
    let end = Instant::now() + duration;
    let mut found = Vec::new();
    for family in families {
        say(&family.name);
        let pairs: Vec<_> =
            selection.parsers(parsers).map(|parser| Pair { parser, family }).collect();
        pairs::check_choice(&pairs, parsers)?;
        let measured = pairs::measure_and(&plan, &pairs, threads, |_| ());
        found.extend(pairs.into_iter().zip(measured));
        if Instant::now() >= end {
            break;
        }
    }
    found.sort_by_key(|(pair, _)| std::ptr::from_ref(pair.parser));
    Ok(found.into_iter().unzip())
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn families_depend_on_the_seed_only() {
        let names = |seed| {
            let mut random = StdRng::seed_from_u64(seed);
            (0..50).map(|_| mixed(&mut random).name).collect::<Vec<_>>()
        };
        assert_eq!(names(1), names(1));
        assert_ne!(names(1), names(2));
        assert!(names(1).iter().any(|name| name.starts_with("sequence(&[(")), "{:?}", names(1));
        assert!(names(1).iter().any(|name| name.starts_with("blocks(&[(")), "{:?}", names(1));
    }

    #[test]
    fn name_of_a_family_reproduces_it() {
        let family = sequence(&[("- ", 2), ("[", 1)]);
        assert_eq!(family.name, r#"sequence(&[("- ", 2), ("[", 1)])"#);
        assert_eq!(family.text(11), "- - [- - [");
        let family = blocks(&[("- ", 2), ("[", 1)]);
        assert_eq!(family.name, r#"blocks(&[("- ", 2), ("[", 1)])"#);
        assert_eq!(family.text(12), "- - - - [[[[");
    }

    #[test]
    fn quadratic_parser_is_found() {
        let quadratic = |text: &str| {
            for byte in text.bytes() {
                black_box(text.bytes().filter(|other| *other == byte).count());
            }
        };
        let parsers = [
            Parser::new("linear", |text| _ = black_box(text.bytes().max())),
            Parser::new("quadratic", quadratic),
        ];
        let plan = Plan {
            first_bytes: 512,
            max_bytes: 1 << 20,
            min_seconds: 0.0,
            factors: FACTORS,
            runs: 1,
            max_exponent: 1.3,
        };
        let chosen = ["quadratic".to_owned()];
        let selection = Selection { parsers: &chosen, families: &[] };
        let families = families(1);
        let (pairs, measured) =
            measure(&plan, selection, &parsers, &families, 2, Duration::ZERO).expect("a pair");
        assert_eq!(pairs.len(), 1, "one parser and one family");
        let line = measured[0].to_line();
        assert_eq!(measured[0].outcome, pairs::Outcome::AboveLimit, "{line}");
        assert!(
            line.starts_with(&format!("- quadratic, {}: exponent ", families[0].name)),
            "{line}"
        );
    }
}
