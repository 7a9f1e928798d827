//! Detection rates of generated attacks, by family. The figures are those of `docs/security.md`.

use std::collections::BTreeMap;

use mc_prompt_guard::payloads::{FAMILIES, VARIANTS, payloads};
use mc_prompt_guard::{Detection, inspect};

/// The lexicon was tuned on these seeds, so the rates are those of known attacks.
const SEEDS: [u64; 3] = [0x5EED, 0xBEEF, 2026];

/// Percentages of each family that are flagged and quarantined, as in `docs/security.md`. A payload
/// of several records is inspected as one text, as in a bundle.
const RATES: &[(&str, usize, usize)] = &[
    ("override", 97, 96),
    ("role", 99, 99),
    ("marker", 100, 99),
    ("fence", 97, 96),
    ("tool_call", 100, 84),
    ("zero_width", 100, 99),
    ("tags", 100, 100),
    ("bidi", 100, 100),
    ("homoglyph", 83, 76),
    ("exfiltration", 95, 89),
    ("concealment", 100, 100),
    ("encoded", 82, 82),
    ("persistence", 100, 97),
    ("split", 94, 84),
    ("combined", 100, 99),
];
/// Percentage points by which a rate may be lower.
const TOLERANCE: usize = 2;

#[test]
#[expect(clippy::print_stdout, reason = "the rates, for --no-capture")]
fn each_family_is_detected_at_its_rate() {
    let mut seen: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for payload in SEEDS.iter().flat_map(|seed| payloads(*seed)) {
        let found = inspect(&payload.parts.join("\n"));
        let counts = seen.entry(payload.family).or_default();
        counts.0 += usize::from(!found.is_empty());
        counts.1 += usize::from(found.iter().any(Detection::quarantines));
    }
    let percent = |count: usize| count * 1000 / (VARIANTS * SEEDS.len());
    for family in FAMILIES {
        let (flagged, stopped) = seen[family];
        println!(
            "{family}: flagged {} of 1000, quarantined {}",
            percent(flagged),
            percent(stopped)
        );
    }
    assert_eq!(RATES.len(), FAMILIES.len(), "each family has its rate");
    for (family, flagged, stopped) in RATES {
        let (f, s) = seen[family];
        let min = |rate: &usize| (rate - TOLERANCE) * 10;
        assert!(percent(f) >= min(flagged), "{family}: {} of 1000 flagged", percent(f));
        assert!(percent(s) >= min(stopped), "{family}: {} of 1000 quarantined", percent(s));
    }
}
