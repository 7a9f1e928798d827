//! Compares the speed of two commits: both are measured in turn in one run. In rounds of several
//! clients, the older one is measured twice a round, which gives the noise of a difference. One
//! client also sends each request to both, after each of several starts.

mod turns;
mod verdict;

use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::harness::report::Report;
use crate::harness::service::Service;
use crate::harness::stats::Spread;
use crate::harness::{ServiceArgs, say};
use crate::load::{self, Round, Size};
use crate::text::decisions;
use turns::InTurn;
use verdict::{Better, Compared, LOSS_MAX, Verdict};

/// The commits to compare.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    service: ServiceArgs,
    /// The release binary of the commit before
    #[arg(long)]
    baseline: PathBuf,
    /// Rounds; more rounds detect smaller losses
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Saves, and recalls, that one client sends to both commits in turn, after each start
    #[arg(long, default_value_t = 300)]
    turns: usize,
    /// Starts of both commits, each with an empty database
    #[arg(long, default_value_t = 5)]
    starts: usize,
    /// A minimal variant to check that it works; its figures mean nothing
    #[arg(long)]
    tiny: bool,
}

/// A figure of a round that is compared.
struct Figure {
    name: &'static str,
    better: Better,
    of: fn(&Round) -> f64,
}

const FIGURES: [Figure; 7] = [
    Figure { name: "parallel writes", better: Better::More, of: |round| round.writes_a_second },
    Figure { name: "write, p50", better: Better::Less, of: |round| round.write.percentile(0.5) },
    Figure { name: "write, p95", better: Better::Less, of: |round| round.write.percentile(0.95) },
    Figure {
        name: "parallel write, p95",
        better: Better::Less,
        of: |round| round.parallel.percentile(0.95),
    },
    Figure { name: "recall, p50", better: Better::Less, of: |round| round.recall.percentile(0.5) },
    Figure { name: "recall, p95", better: Better::Less, of: |round| round.recall.percentile(0.95) },
    Figure { name: "parallel recalls", better: Better::More, of: |round| round.recalls_a_second },
];

/// Measures and writes the report; fails if the newer commit lost a note, or if a figure is worse
/// by more than a tenth and the noise.
pub async fn run(args: Args) -> Result<()> {
    ensure!(args.rounds > 0, "--rounds is at least 1");
    ensure!(args.starts > 0, "--starts is at least 1");
    ensure!(
        (1..=decisions::DISTINCT).contains(&args.turns),
        "--turns is 1 to {}",
        decisions::DISTINCT
    );
    let size = if args.tiny { Size::TINY } else { Size::QUICK };
    let in_turn = turns_of_all_starts(&args).await?;
    let [before, now] = start_both(&args).await?;
    let mut rounds = Vec::new();
    for number in 0..args.rounds {
        rounds.push(one_round(&before, &now, number, size).await?);
        say(&format!("gate: round {} of {}", number + 1, args.rounds));
    }
    before.stop()?;
    now.stop()?;
    let compared: Vec<(&str, Compared)> =
        FIGURES.iter().map(|figure| (figure.name, compare(figure, &rounds))).collect();
    report(&args, &compared, &in_turn)?;
    ensure_kept(rounds.iter().map(|[_, new, _]| new))?;
    if args.tiny {
        return Ok(());
    }
    let lost = compared
        .iter()
        .filter(|(_, compared)| compared.verdict() == Verdict::Slower)
        .map(|(name, compared)| format!("{name}: {}", compared.describe()));
    let lost_in_turn = in_turn.iter().filter(|kind| kind.is_slower()).map(InTurn::describe);
    let lost: Vec<String> = lost.chain(lost_in_turn).collect();
    ensure!(lost.is_empty(), "slower than the commit before: {}", lost.join("; "));
    Ok(())
}

/// Starts the older commit and the newer one, and sends both a few requests: the first ones load
/// the model.
async fn start_both(args: &Args) -> Result<[Service; 2]> {
    let common = &args.service.common;
    let before = load::start(common, &args.baseline, "gate-baseline").await?;
    let now = load::start(common, &args.service.binary, "gate").await?;
    for service in [&before, &now] {
        load::round(&service.api, "warm-up", Size::TINY).await?;
    }
    Ok([before, now])
}

/// Starts both commits several times and compares their times by one client.
async fn turns_of_all_starts(args: &Args) -> Result<[InTurn; 2]> {
    let (starts, count) =
        if args.tiny { (1, Size::TINY.sequential) } else { (args.starts, args.turns) };
    let mut measured = Vec::new();
    for number in 0..starts {
        let [before, now] = start_both(args).await?;
        measured.push(turns::measure(&before.api, &now.api, count).await?);
        before.stop()?;
        now.stop()?;
        say(&format!("gate: start {} of {starts}, {count} saves and recalls in turn", number + 1));
    }
    Ok(turns::compare(&measured))
}

/// Measures the older commit, the newer one, and the older one again.
async fn one_round(
    before: &Service,
    now: &Service,
    number: usize,
    size: Size,
) -> Result<[Round; 3]> {
    let first = load::round(&before.api, &format!("first-{number}"), size).await?;
    let new = load::round(&now.api, &format!("round-{number}"), size).await?;
    let second = load::round(&before.api, &format!("second-{number}"), size).await?;
    Ok([first, new, second])
}

/// Checks that all acknowledged notes were found at once and still exist: speed does not count if
/// notes are lost.
fn ensure_kept<'a>(rounds: impl Iterator<Item = &'a Round>) -> Result<()> {
    let (unseen, lost) =
        rounds.fold((0, 0), |(unseen, lost), round| (unseen + round.unseen, lost + round.lost));
    ensure!(
        unseen == 0 && lost == 0,
        "of the notes that were acknowledged, {unseen} were not found at once, and {lost} are lost"
    );
    Ok(())
}

fn compare(figure: &Figure, rounds: &[[Round; 3]]) -> Compared {
    let of = |round: &[Round; 3]| [&round[0], &round[1], &round[2]].map(|round| (figure.of)(round));
    Compared::of(figure.better, rounds.iter().map(of))
}

fn report(args: &Args, compared: &[(&str, Compared)], in_turn: &[InTurn]) -> Result<()> {
    let mut report = Report::new("gate");
    report.note(format!("{} beside {}", args.service.binary.display(), args.baseline.display()));
    report.note(format!(
        "a loss is by how much the new one is worse than the mean of the old one before and after \
         it; noise is by how much these two differ; the median loss may be {LOSS_MAX} and the \
         median noise"
    ));
    report.note(format!(
        "in turn: one client sends each request to both; the loss after a start is the median \
         difference as a share of the older one's median; the median of the starts may be {}",
        turns::LOSS_MAX
    ));
    for InTurn { name, before, now, loss } in in_turn {
        for (commit, times) in [("older", before), ("newer", now)] {
            report.add(format!("{name} in turn, {commit} one, p50"), "ms", times.p50);
            report.add(format!("{name} in turn, {commit} one, p99"), "ms", times.p99);
        }
        report.add(format!("{name} in turn: loss"), "share", *loss);
    }
    for (name, compared) in compared {
        report.add(format!("{name}: loss"), "share", Spread::of(compared.losses.iter().copied()));
        report.add(format!("{name}: noise"), "share", Spread::of(compared.noises.iter().copied()));
    }
    report.write(&args.service.common.out)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::harness::stats::Times;

    #[test]
    fn lost_or_unfindable_note_fails_the_gate() {
        let times = || Times::of([Duration::from_millis(1)]);
        let round = |unseen, lost| Round {
            write: times(),
            parallel: times(),
            writes_a_second: 1.0,
            recall: times(),
            recalls_a_second: 1.0,
            unseen,
            lost,
        };
        let kept = |rounds: [Round; 2]| ensure_kept(rounds.iter());
        assert!(kept([round(0, 0), round(0, 0)]).is_ok());
        assert!(kept([round(0, 0), round(1, 0)]).is_err());
        assert!(kept([round(0, 1), round(0, 0)]).is_err());
    }
}
