//! Reports for people.

use std::fmt::{self, Display};

use serde::Serialize;

use super::figures::{Bin, Figures, Of, reliability};
use super::judge::{self, Row};
use super::run::{Outcome, Saved};
use super::set::Set;

/// Numbers of hits of the baseline rows.
const PLAIN: [usize; 3] = [1, 3, 5];

/// A scored set.
#[derive(Debug, Serialize)]
pub struct Scored {
    /// The name of the set.
    pub name: String,
    /// The outcomes of the notes.
    pub saved: Saved,
    /// One row per question.
    pub rows: Vec<Row>,
    /// The baseline: rows of the first hits of `search`, by their number.
    pub plain: Vec<(usize, Vec<Row>)>,
}

/// Evaluates every response.
pub fn score(set: &Set, outcome: Outcome) -> Scored {
    let Outcome { saved, answers } = outcome;
    let answered = || set.questions.iter().zip(&answers);
    let rows = answered().map(|(question, answer)| judge::bundle(question, answer, &saved));
    let rows = rows.collect();
    let plain = PLAIN.map(|count| {
        let rows = answered()
            .map(|(question, answer)| judge::first_hits(set, question, answer, &saved, count));
        (count, rows.collect())
    });
    Scored { name: set.name.clone(), saved, rows, plain: plain.into() }
}

impl Scored {
    /// Returns the figures of the bundles.
    pub fn figures(&self) -> Figures {
        Figures::of(&self.rows)
    }
}

/// Renders a line for each set and each of its baselines, one over all sets if there are several,
/// and the reliability of the confidence.
pub fn table(sets: &[Scored]) -> String {
    let mut lines = vec![HEADER.to_owned()];
    for set in sets {
        lines.push(line(&set.name, &set.figures()));
        let monolingual = set.rows.iter().filter(|row| !row.cross_lingual);
        lines.push(line("  without cross-lingual", &Figures::of(monolingual)));
        lines.extend(set.plain.iter().map(|(count, rows)| {
            let name = format!("  first {count} of search");
            line(&name, &Figures::of(rows))
        }));
    }
    if sets.len() > 1 {
        lines.push(line("all", &Figures::of(sets.iter().flat_map(|set| &set.rows))));
    }
    lines.push("\nconfidence  bundles    mean  useful".to_owned());
    let bins = reliability(sets.iter().flat_map(|set| &set.rows));
    lines.extend(bins.iter().map(ToString::to_string));
    lines.join("\n") + "\n"
}

const HEADER: &str = "set                      questions  useful   must  complete  first  noise  \
                      noise_chars  empty right  wrongly empty  tokens   ms";

fn line(name: &str, figures: &Figures) -> String {
    let Figures { questions, useful, must, complete, first, noise, noise_chars, .. } = figures;
    let [right, wrongly] = [figures.empty_right, figures.wrongly_empty].map(|of| of.to_string());
    let Figures { tokens, ms, .. } = figures;
    format!(
        "{name:<24} {questions:>9}  {useful:>6.3}  {must:>5.3}  {complete:>8.3}  {first:>5.3}  \
         {noise:>5.3}  {noise_chars:>11.3}  {right:>11}  {wrongly:>13}  {tokens:>6.0}  {ms:>3.0}"
    )
}

/// Renders every note that was not created, and every question that is not fully correct, with the
/// reasons.
pub fn failures(set: &Scored) -> String {
    let mut lines = Vec::new();
    let is_odd = |outcome: &str| !["created", "superseded"].contains(&outcome);
    for (note, fate) in &set.saved {
        if is_odd(&fate.outcome) || !fate.doubtful.is_empty() {
            let doubtful = fate.doubtful.join(", ");
            lines.push(format!(
                "{} note {note}: {} {} {doubtful}",
                set.name, fate.outcome, fate.reason
            ));
        }
    }
    for row in set.rows.iter().filter(|row| !row.useful) {
        let got = if row.got.is_empty() { "nothing".to_owned() } else { row.got.join(", ") };
        lines.push(format!("{} {} ({}): got {got}", set.name, row.id, row.why));
        lines.extend(row.reasons.iter().map(|reason| format!("  - {reason}")));
    }
    lines.join("\n") + "\n"
}

impl Display for Of {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.some, self.all)
    }
}

impl Display for Bin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, bundles, confidence, useful } = self;
        write!(f, "from {from:<5.1}  {bundles:>7}   {confidence:>5.3}   {useful:>5.3}")
    }
}
