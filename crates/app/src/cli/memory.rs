//! Commands that read, write and measure the memory.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{PatternArgs, ProjectArg};

/// Arguments of `ingest`.
#[derive(Debug, Args)]
pub struct IngestArgs {
    /// Path on the service's machine, or git URL. A path, a file: or ssh URL and a private host
    /// require an administrator of the service and a token with the scope ingest:local.
    pub location: String,
    #[command(flatten)]
    pub project: ProjectArg,
    /// Branch, tag or commit.
    #[arg(long = "ref", value_name = "REF")]
    pub git_ref: Option<String>,
    /// Name of the repository; by default that of the directory or URL.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Accept a new location of a repository that is known under its name.
    #[arg(long)]
    pub relocate: bool,
    #[command(flatten)]
    pub patterns: PatternArgs,
    /// Return as soon as the run is enqueued.
    #[arg(long)]
    pub detach: bool,
    /// Also wait until all passages are embedded.
    #[arg(long)]
    pub wait_for_vectors: bool,
}

/// Arguments of `recall`.
#[derive(Debug, Args)]
pub struct RecallArgs {
    /// Question or topic.
    pub query: Option<String>,
    #[command(flatten)]
    pub project: ProjectArg,
    /// Task in the tracker, such as CS-214.
    #[arg(long)]
    pub task: Option<String>,
    /// File or directory in the repository.
    #[arg(long)]
    pub path: Option<String>,
    /// Qualified name of a symbol; may be repeated.
    #[arg(long = "symbol", value_name = "NAME")]
    pub symbols: Vec<String>,
    /// Signal, such as an error message or nil-delay; may be repeated.
    #[arg(long = "signal", value_name = "WORD")]
    pub signals: Vec<String>,
    /// Maximum size of the bundle, in tokens.
    #[arg(long, default_value_t = 2000, value_name = "N")]
    pub limit_tokens: u32,
}

/// Arguments of `save`.
#[derive(Debug, Args)]
pub struct SaveArgs {
    /// Text of the record; `-` reads standard input.
    pub content: String,
    #[command(flatten)]
    pub project: ProjectArg,
    /// Kind: fact, fewshot, pattern, `adr_link`, gotcha or rule.
    #[arg(long, default_value = "fact")]
    pub kind: String,
    /// Short title.
    #[arg(long)]
    pub title: Option<String>,
    /// Part of the system that the record is about; may be repeated.
    #[arg(long)]
    pub scope: Vec<String>,
    /// Tag; may be repeated.
    #[arg(long = "tag")]
    pub tags: Vec<String>,
    /// Task in the tracker.
    #[arg(long)]
    pub task: Option<String>,
    /// Cited code: `path`, `path:12-30` or `path#Symbol`; may be repeated.
    #[arg(long = "cite", value_name = "CITATION")]
    pub citations: Vec<String>,
    /// URL, for `adr_link`.
    #[arg(long)]
    pub url: Option<String>,
    /// Supersede the record that the new text contradicts.
    #[arg(long)]
    pub contradicts: bool,
}

/// Arguments of `search`.
#[derive(Debug, Args)]
pub struct SearchArgs {
    /// Words, a symbol or a path.
    pub query: String,
    #[command(flatten)]
    pub project: ProjectArg,
    /// Source: memory, doc, code, dialog, or change (alone); may be repeated.
    #[arg(long = "source")]
    pub sources: Vec<String>,
    /// Only paths that match, such as `app/**/*.rb`.
    #[arg(long)]
    pub path: Option<String>,
    /// Only this language.
    #[arg(long)]
    pub language: Option<String>,
    /// Maximum number of results.
    #[arg(long, short = 'n', default_value_t = 10)]
    pub limit: u32,
    /// Show the scores of each result.
    #[arg(long)]
    pub explain: bool,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    #[command(flatten)]
    pub project: ProjectArg,
    /// Output file; by default standard output.
    #[arg(long, short)]
    pub output: Option<PathBuf>,
}

/// Arguments of `import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// File, or directory of a repository, whose rules files and decision records are found; `-`
    /// reads standard input.
    pub path: PathBuf,
    #[command(flatten)]
    pub project: ProjectArg,
    /// Format: records, rules, adr, mem0 or server-memory; by default detected.
    #[arg(long, value_name = "FORMAT", value_parser = ImportFormat::parse)]
    pub from: Option<ImportFormat>,
    /// Show the proposals and the refused parts without sending them; needs no service.
    #[arg(long)]
    pub dry_run: bool,
    /// Create the project if it does not exist.
    #[arg(long, conflicts_with = "dry_run")]
    pub create_project: bool,
}

/// A format of `import`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportFormat {
    /// Records, as `export` writes them.
    Records,
    /// The format of another program.
    Other(mc_import::Format),
}

impl ImportFormat {
    fn parse(word: &str) -> Result<Self, mc_import::UnknownFormat> {
        if word == "records" { Ok(Self::Records) } else { word.parse().map(Self::Other) }
    }
}

/// Subcommands of `eval`.
#[derive(Debug, Subcommand)]
pub enum EvalCommand {
    /// Measure the judge of saves on labeled notes and pairs, without the service.
    Judge(EvalJudgeArgs),
    /// Measure whether a chat model answers questions better with the bundles of a project.
    Help(EvalHelpArgs),
}

/// Arguments of `eval help`.
#[derive(Debug, Args)]
#[command(after_help = super::examples::EVAL_HELP)]
pub struct EvalHelpArgs {
    /// Questions with expected facts: a .yaml, .yml or .jsonl file, or a directory of them.
    pub set: PathBuf,
    #[command(flatten)]
    pub project: ProjectArg,
    /// Only questions of this split.
    #[arg(long)]
    pub split: Option<String>,
    /// Only the first N questions. Each is at least two requests, which may cost money.
    #[arg(long, value_name = "N")]
    pub limit: Option<NonZeroUsize>,
    /// Maximum size of a bundle, in tokens.
    #[arg(long, default_value_t = 2000, value_name = "N")]
    pub limit_tokens: u32,
    /// Find facts by their phrases, even if a chat model has the role judge.
    #[arg(long)]
    pub phrases: bool,
}

/// Arguments of `eval judge`.
#[derive(Debug, Args)]
pub struct EvalJudgeArgs {
    /// JSON Lines, such as tests/judge/golden.jsonl of the repository.
    pub file: PathBuf,
    /// Only rows of this split.
    #[arg(long)]
    pub split: Option<String>,
    /// Also ask the chat model with the role judge. Each row is a request, which may cost money.
    #[arg(long)]
    pub model: bool,
}

/// Arguments of `eval`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(disable_help_subcommand = true)]
pub struct EvalArgs {
    #[command(subcommand)]
    pub command: Option<EvalCommand>,
    /// Directories with queries.jsonl, qrels.tsv and corpus.jsonl or meta.json.
    #[arg(required = true)]
    pub sets: Vec<PathBuf>,
    /// For sets with meta.json: directory of clones, `<name>` or `<owner>/<name>`.
    #[arg(long, value_name = "DIR")]
    pub repo_dir: Option<PathBuf>,
    /// Keep the scratch projects, so that a second run skips indexing.
    #[arg(long)]
    pub keep: bool,
    /// Disable a step of the ranking; may be repeated.
    #[arg(long = "disable-step", value_name = "STEP")]
    pub disabled_steps: Vec<String>,
    /// Measure with all steps, then without each step.
    #[arg(long, conflicts_with = "disabled_steps")]
    pub ablation: bool,
}
