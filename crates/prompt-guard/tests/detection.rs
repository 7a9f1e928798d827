//! Detection rates of generated attacks, by family. The figures are those of `docs/security.md`.

use std::collections::BTreeMap;

use mc_prompt_guard::payloads::{FAMILIES, VARIANTS, payloads};
use mc_prompt_guard::{Detection, inspect};

/// The lexicon was tuned on these seeds, so the rates are those of known attacks.
const SEEDS: [u64; 3] = [0x5EED, 0xBEEF, 2026];

/// Minimum percentages of each family that are flagged and quarantined, slightly below the measured
/// rates. A payload of several records is inspected as one text, as in a bundle.
const RATES: &[(&str, usize, usize)] = &[
    ("override", 95, 93),
    ("role", 96, 96),
    ("marker", 98, 97),
    ("fence", 94, 94),
    ("tool_call", 98, 81),
    ("zero_width", 98, 97),
    ("tags", 99, 99),
    ("bidi", 99, 99),
    ("homoglyph", 80, 73),
    ("exfiltration", 92, 87),
    ("concealment", 97, 97),
    ("encoded", 79, 79),
    ("persistence", 97, 95),
    ("split", 91, 81),
    ("combined", 97, 96),
];

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
        assert!(percent(f) >= flagged * 10, "{family}: {} of 1000 flagged", percent(f));
        assert!(percent(s) >= stopped * 10, "{family}: {} of 1000 quarantined", percent(s));
    }
}
