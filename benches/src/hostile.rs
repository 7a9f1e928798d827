//! The cost of hostile input: the growth of the processor time of every parser of outside text, for
//! families of texts that were made to be slow.

mod measure;
mod pairs;
mod parsers;
mod search;
mod summary;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use mc_indexer::chunker::{self, Limits};
use mc_indexer::markdown;
use mc_parser_pool::{PROCESS_ARGUMENT, Program};

use crate::allocator;
use crate::growth::families::{Family, texts};
use crate::harness::report::{Report, short};
use crate::harness::say;
use crate::harness::stats::Spread;
use measure::{FACTORS, Plan};
use pairs::{Measurement, Outcome, Pair, Selection};
use parsers::Parser;

/// Selection of pairs of a parser and a family, and settings of their measurement.
#[derive(clap::Args)]
pub struct Args {
    /// Parsers, by parts of their names, separated by commas; all when absent
    #[arg(long = "parser", value_delimiter = ',')]
    parsers: Vec<String>,
    /// Part of the name of a family; repeat the option for several; all when absent
    #[arg(long = "family")]
    families: Vec<String>,
    /// Measure random mixtures of the families for this time, in seconds, in place of the families
    #[arg(long, value_name = "SECONDS", conflicts_with = "families")]
    search: Option<u64>,
    /// Seed of the random mixtures
    #[arg(long, default_value_t = 1, requires = "search")]
    seed: u64,
    /// First length of the smallest text, in bytes; it grows until parsing takes --milliseconds
    #[arg(long, default_value_t = 8_192)]
    bytes: usize,
    /// Length that no text exceeds, in bytes; the time of texts that do not fit a processor's cache
    /// has a step, which is no growth
    #[arg(long, default_value_t = 1 << 20)]
    max_bytes: usize,
    /// Processor time that the smallest text has to take, in milliseconds
    #[arg(long, default_value_t = 2.0)]
    milliseconds: f64,
    /// Runs of each text, of which the median counts; an odd number
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Exponent that no pair may reach
    #[arg(long, default_value_t = 1.3)]
    max_exponent: f64,
    /// Threads that measure at the same time
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Program whose parser processes read code and Markdown; memory-copilot of this commit
    #[arg(long, env = "MEMORY_COPILOT_BINARY")]
    binary: PathBuf,
    /// File for the points of every pair, as JSON
    #[arg(long)]
    json: Option<PathBuf>,
    /// Directory for the results
    #[arg(long, default_value = "bench-results")]
    out: PathBuf,
}

/// Measures all pairs and writes the report; fails if the time of a pair grows too fast.
pub fn run(args: &Args) -> Result<()> {
    args.check()?;
    allocator::keep_freed_memory()?;
    let start = Instant::now();
    let (parsers, families) = (parsers::all(), args.all_families());
    let plan = args.plan();
    parse_in_processes(&args.binary)?;
    let (pairs, mut measured) = args.measure(&plan, &parsers, &families)?;
    pairs::repeat(&plan, &pairs, &mut measured);
    mc_parser_pool::stop();
    if let Some(file) = &args.json {
        write_json(file, &measured)?;
    }
    report(args, &measured, start).write(&args.out)?;
    args.check_exponents(&measured)
}

impl Args {
    fn check(&self) -> Result<()> {
        ensure!(self.runs % 2 == 1, "--runs must be odd, so that one run is the median");
        ensure!(self.bytes > 0, "--bytes must be at least 1");
        ensure!(self.max_bytes > 0, "--max-bytes must be at least 1");
        ensure!(self.threads > 0, "--threads must be at least 1");
        ensure!(self.milliseconds >= 0.0, "--milliseconds must not be negative");
        Ok(())
    }

    fn plan(&self) -> Plan {
        Plan {
            first_bytes: self.bytes,
            max_bytes: self.max_bytes,
            min_seconds: self.milliseconds / 1e3,
            factors: FACTORS,
            runs: self.runs,
            max_exponent: self.max_exponent,
        }
    }

    /// Returns the families of text, or those of a search.
    fn all_families(&self) -> Vec<Family> {
        if self.search.is_some() { search::families(self.seed) } else { texts() }
    }

    /// Measures all pairs, or those of a search. Returns them with their measurements.
    fn measure<'a>(
        &self,
        plan: &Plan,
        parsers: &'a [Parser],
        families: &'a [Family],
    ) -> Result<(Vec<Pair<'a>>, Vec<Measurement<'a>>)> {
        let selection = Selection { parsers: &self.parsers, families: &self.families };
        if let Some(seconds) = self.search {
            let duration = Duration::from_secs(seconds);
            return search::measure(plan, selection, parsers, families, self.threads, duration);
        }
        let pairs = selection.pairs(parsers, families)?;
        let measured = pairs::measure(plan, &pairs, self.threads);
        Ok((pairs, measured))
    }

    /// Fails with a list of the pairs whose time grows too fast.
    fn check_exponents(&self, measured: &[Measurement<'_>]) -> Result<()> {
        let max_exponent = self.max_exponent;
        let failed: Vec<String> = measured
            .iter()
            .filter(|pair| pair.outcome == Outcome::AboveLimit)
            .map(Measurement::to_line)
            .collect();
        if failed.is_empty() {
            say(&format!("the exponent of every pair is below {max_exponent}"));
            return Ok(());
        }
        let advice = match self.search {
            Some(_) => "add its family to `shaped` in tests/growth/families.rs, and measure that",
            None => "measure one alone with --parser and --family",
        };
        bail!(
            "{} pairs have an exponent of {max_exponent} or more; {advice}:\n{}",
            failed.len(),
            failed.join("\n")
        );
    }

    /// Describes the families in a sentence.
    fn describe_families(&self) -> String {
        match self.search {
            Some(seconds) => format!(
                "Random mixtures of the families of text for {seconds} s (seed {}), measured at n \
                 and 4n bytes, and those above the limit also at 2n and 8n.",
                self.seed
            ),
            None => format!(
                "{} families of text for each parser, and families of its own, measured at n, 2n, \
                 4n and 8n bytes.",
                texts().len()
            ),
        }
    }
}

/// Has texts parsed by processes of the binary from now on, as the service does.
fn parse_in_processes(binary: &Path) -> Result<()> {
    mc_parser_pool::install(Program::new(binary, &[PROCESS_ARGUMENT]))?;
    // A text whose process fails is split by lines, at once.
    let code = chunker::cut("a.rs", "rust", "fn a() {}\n", Limits::default());
    let document = markdown::parse("# A\nb\n", Limits::default());
    ensure!(
        !code.symbols.is_empty() && document.title == "A",
        "{} does not parse code or Markdown; build memory-copilot of this commit, and give it as \
         --binary",
        binary.display()
    );
    Ok(())
}

fn report(args: &Args, measured: &[Measurement<'_>], start: Instant) -> Report {
    let mut report = Report::new("hostile");
    report.note(format!(
        "{} The time is the processor time of the thread and of child processes for it, the median \
         of {} runs (of one if it takes more than 10 ms) after one that does not count.",
        args.describe_families(),
        args.runs
    ));
    report.note(format!(
        "n begins at {} bytes and grows until a text takes {} ms, at most to an eighth of {} bytes \
         and of the longest text that the parser accepts. If such a text takes less time, each run \
         parses it several times.",
        args.bytes,
        short(args.milliseconds),
        args.max_bytes
    ));
    report.note(
        "The exponent is the slope through the logarithms of the points. Above the limit, a \
         pair is measured up to three times again, and the smallest exponent counts: other load \
         adds time, above all to the longer texts.",
    );
    let one = |value: f64| Spread::of([value]);
    let failed = measured.iter().filter(|pair| pair.outcome == Outcome::AboveLimit).count();
    report.add("pairs of a parser and a family", "", one(measured.len() as f64));
    report.add("pairs above the exponent limit", "", one(failed as f64));
    report.add("time of the benchmark", "s", one(start.elapsed().as_secs_f64()));
    report.set_table(summary::table(measured));
    report
}

fn write_json(file: &Path, measured: &[Measurement<'_>]) -> Result<()> {
    let text = serde_json::to_string_pretty(measured)? + "\n";
    std::fs::write(file, text)
        .with_context(|| format!("{} can't be written; choose another --json", file.display()))
}
