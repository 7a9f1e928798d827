//! Rates of detections in benign notes of teams that speak of policies, instructions, prompts and
//! secrets. The figures are those of `docs/security.md`.
//!
//! The authors of the notes did not see the rules. The rules may be tuned on `dev.txt`. The notes
//! of `held_out.txt` are not read for tuning, so their rates estimate those of unseen notes.

use mc_prompt_guard::{Detection, inspect};

/// The line between two notes.
const NEXT_NOTE: &str = "\n%%\n";

/// The notes, their number, and how many are flagged and quarantined at most.
const SETS: [(&str, usize, usize, usize); 2] = [
    (include_str!("benign_notes/dev.txt"), 160, 3, 0),
    (include_str!("benign_notes/held_out.txt"), 120, 9, 2),
];

#[test]
fn benign_notes_are_seldom_detected() {
    for (notes, count, flagged, quarantined) in SETS {
        let found: Vec<Vec<Detection>> = notes.split(NEXT_NOTE).map(inspect).collect();
        let is_stopped = |found: &&Vec<Detection>| found.iter().any(Detection::quarantines);
        assert_eq!(found.len(), count);
        let seen = found.iter().filter(|found| !found.is_empty()).count();
        let stopped = found.iter().filter(is_stopped).count();
        assert!(seen <= flagged && stopped <= quarantined, "{seen} flagged, {stopped} quarantined");
    }
}
