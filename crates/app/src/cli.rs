//! The command line.

mod examples;

use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use mc_domain::{
    Ability, ClusterId, ConnectionId, DeliveryId, DeliveryState, ExportId, HeldEnds, HookId,
    HygieneReportId, HygieneTask, JobState, RecordId, UnknownValue, WebhookSource,
};

/// A team's long-term memory for people who code with an assistant.
#[derive(Debug, Parser)]
#[command(name = "memory-copilot", version, about, propagate_version = true)]
pub struct Cli {
    /// Configuration file (YAML).
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print JSON instead of text.
    #[arg(long, global = true)]
    pub json: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What the program can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the service: database, Core API, /mcp, indexing.
    Serve,
    /// Work in the background alone, beside one or more `serve` on the same database.
    #[command(after_help = examples::WORKER)]
    Worker,
    /// Speak MCP on standard input and output, as an IDE starts it.
    Mcp(McpArgs),
    /// Index a repository (a path or a git URL) and follow its progress.
    Ingest(IngestArgs),
    /// Ask what the team knows about a place.
    Recall(RecallArgs),
    /// Save what was learnt.
    Save(SaveArgs),
    /// Search memory, documents, code and dialogs.
    Search(SearchArgs),
    /// Write the project's records as YAML.
    Export(ExportArgs),
    /// Save records from YAML.
    Import(ImportArgs),
    /// Measure retrieval on data in the BEIR layout.
    Eval(EvalArgs),
    /// Sign in at the service that client.url names, from a terminal.
    Login(LoginArgs),
    /// End the login of this machine.
    Logout(LogoutArgs),
    /// Show who you are to the service.
    Whoami,
    /// Personal access tokens.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Who did what.
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Webhooks: where other systems tell a project of what happens there; for its maintainers.
    #[command(subcommand, after_help = examples::HOOKS)]
    Hooks(HooksCommand),
    /// Other systems that are asked on a project's behalf; for its maintainers.
    #[command(subcommand, after_help = examples::CONNECTIONS)]
    Connections(ConnectionsCommand),
    /// What keeps a project's memory in order by the clock, and what it found; for its maintainers.
    #[command(subcommand, after_help = examples::HYGIENE)]
    Hygiene(HygieneCommand),
    /// The background work; for administrators of the service.
    #[command(subcommand, after_help = examples::JOBS)]
    Jobs(JobsCommand),
    /// Write a backup of the database to a file, while the service runs or not.
    #[command(after_help = examples::BACKUP)]
    Backup(BackupArgs),
    /// Make the database anew from a backup, where there is none yet.
    #[command(after_help = examples::RESTORE)]
    Restore(RestoreArgs),
    /// Show what of a file would be masked before it is stored. Needs no service.
    Sanitize(SanitizeArgs),
    /// Check the installation and say how to mend it.
    Doctor,
    /// Show the configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Set up Cursor.
    #[command(subcommand)]
    Cursor(CursorCommand),
    /// Print completions for a shell.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
}

/// The project a command is about.
#[derive(Debug, Args)]
pub struct ProjectArg {
    /// Project key.
    #[arg(long, short, env = "MEMORY_COPILOT_PROJECT", value_name = "KEY")]
    pub project: String,
}

/// Arguments of `mcp`.
#[derive(Debug, Args)]
pub struct McpArgs {
    /// Project of calls that name none.
    #[arg(long, short, env = "MEMORY_COPILOT_PROJECT", value_name = "KEY")]
    pub project: Option<String>,
    /// Groups of tools to offer.
    #[arg(long, value_delimiter = ',', default_value = "memory,repo", value_name = "NAMES")]
    pub toolsets: Vec<String>,
}

/// Arguments of `ingest`.
#[derive(Debug, Args)]
pub struct IngestArgs {
    /// Path or git URL.
    pub location: String,
    #[command(flatten)]
    pub project: ProjectArg,
    /// Branch, tag or commit.
    #[arg(long = "ref", value_name = "REF")]
    pub git_ref: Option<String>,
    /// Name under which it is known; the folder's or the URL's without it.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// It is known under its name from another location and moved here.
    #[arg(long)]
    pub relocate: bool,
    /// Come back as soon as the run is queued.
    #[arg(long)]
    pub detach: bool,
    /// Also wait until every passage has its vector.
    #[arg(long)]
    pub wait_vectors: bool,
}

/// Arguments of `recall`.
#[derive(Debug, Args)]
pub struct RecallArgs {
    /// What it is about, in words.
    pub query: Option<String>,
    #[command(flatten)]
    pub project: ProjectArg,
    /// Task in the tracker, such as CS-214.
    #[arg(long)]
    pub task: Option<String>,
    /// File or folder in the repository.
    #[arg(long)]
    pub path: Option<String>,
    /// Qualified names.
    #[arg(long = "symbol", value_name = "NAME")]
    pub symbols: Vec<String>,
    /// Words for what is going on, such as nil-delay.
    #[arg(long = "signal", value_name = "WORD")]
    pub signals: Vec<String>,
    /// Size of the bundle.
    #[arg(long, default_value_t = 2000, value_name = "N")]
    pub limit_tokens: u32,
}

/// Arguments of `save`.
#[derive(Debug, Args)]
pub struct SaveArgs {
    /// What was learnt; `-` reads standard input.
    pub content: String,
    #[command(flatten)]
    pub project: ProjectArg,
    /// fact, fewshot, pattern, `adr_link`, gotcha or rule.
    #[arg(long, default_value = "fact")]
    pub kind: String,
    /// Short title.
    #[arg(long)]
    pub title: Option<String>,
    /// Part of the system it is about; may be repeated.
    #[arg(long)]
    pub scope: Vec<String>,
    /// Tag; may be repeated.
    #[arg(long = "tag")]
    pub tags: Vec<String>,
    /// Task in the tracker.
    #[arg(long)]
    pub task: Option<String>,
    /// Place it was true of: `path`, `path:12-30` or `path#Symbol`; may be repeated.
    #[arg(long = "cite", value_name = "PLACE")]
    pub citations: Vec<String>,
    /// Address, for `adr_link`.
    #[arg(long)]
    pub url: Option<String>,
    /// Replaces the record that says otherwise.
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
    /// memory, doc, code or dialog; may be repeated.
    #[arg(long = "source")]
    pub sources: Vec<String>,
    /// Only paths that match, such as `app/**/*.rb`.
    #[arg(long)]
    pub path: Option<String>,
    /// Only this language.
    #[arg(long)]
    pub language: Option<String>,
    /// How many.
    #[arg(long, short = 'n', default_value_t = 10)]
    pub limit: u32,
    /// Say why each result ranks where it does.
    #[arg(long)]
    pub explain: bool,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    #[command(flatten)]
    pub project: ProjectArg,
    /// File to write; standard output without it.
    #[arg(long, short)]
    pub output: Option<PathBuf>,
}

/// Arguments of `import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// YAML file, as `export` writes it; `-` reads standard input.
    pub file: PathBuf,
    #[command(flatten)]
    pub project: ProjectArg,
}

/// Arguments of `eval`.
#[derive(Debug, Args)]
pub struct EvalArgs {
    /// Folders with queries.jsonl, qrels.tsv and corpus.jsonl or meta.json.
    #[arg(required = true)]
    pub sets: Vec<PathBuf>,
    /// For sets with meta.json: folder with clones, `<name>` or `<owner>/<name>`.
    #[arg(long, value_name = "DIR")]
    pub repo_dir: Option<PathBuf>,
    /// Keep the scratch projects, so that a second run skips indexing.
    #[arg(long)]
    pub keep: bool,
    /// Leave a step of the ranking out; may be given more than once.
    #[arg(long, value_name = "STEP")]
    pub without: Vec<String>,
    /// Measure once with everything and once without each step, to see what each is worth.
    #[arg(long, conflicts_with = "without")]
    pub ablation: bool,
}

/// Arguments of `login`.
#[derive(Debug, Args)]
pub struct LoginArgs {
    /// Let a login at another terminal in as you: the code that it shows.
    #[arg(long, value_name = "CODE", conflicts_with = "deny")]
    pub approve: Option<String>,
    /// Refuse a login at another terminal.
    #[arg(long, value_name = "CODE")]
    pub deny: Option<String>,
    /// What to ask for: memory:read, memory:write, ingest, coding, github:write, admin; everything
    /// without it. What you get is what you have.
    #[arg(long = "scope", value_name = "SCOPE")]
    pub scopes: Vec<String>,
}

/// Arguments of `logout`.
#[derive(Debug, Args)]
pub struct LogoutArgs {
    /// End every login of yours, on every machine and in every browser, at once. For when one may have been
    /// stolen; personal access tokens stay.
    #[arg(long)]
    pub everywhere: bool,
}

/// Subcommands of `token`.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make one; it is shown once.
    Create {
        /// What to call it.
        name: String,
        /// What it may be used for; may be repeated.
        #[arg(long = "scope", required = true, value_name = "SCOPE")]
        scopes: Vec<String>,
        /// Days until it ends, 366 at most.
        #[arg(long, default_value_t = 90, value_name = "DAYS")]
        days: u32,
        /// The program that it is for (a user with `is_agent`); you without it.
        #[arg(long, value_name = "LOGIN")]
        agent: Option<String>,
    },
    /// List yours.
    List {
        /// List somebody else's; for administrators of the service.
        #[arg(long, value_name = "LOGIN")]
        user: Option<String>,
    },
    /// Revoke one at once; for administrators of the service anybody's.
    Revoke {
        /// Its id, as `token list` shows it.
        id: String,
    },
}

/// Subcommands of `hooks`.
#[derive(Debug, Subcommand)]
pub enum HooksCommand {
    /// Add one, and print what its sender is given: an address and a secret.
    Add {
        /// Who sends.
        #[arg(value_parser = word_of(WebhookSource::ALL, WebhookSource::as_str))]
        source: WebhookSource,
        #[command(flatten)]
        project: ProjectArg,
        #[command(flatten)]
        secret: SecretArg,
    },
    /// List the project's.
    List {
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Give one another secret.
    Rotate {
        /// Its id, as `hooks list` shows it.
        id: HookId,
        #[command(flatten)]
        project: ProjectArg,
        /// Hours for which the secret before counts as well, 168 at most.
        #[arg(long, default_value_t = 24, value_name = "N")]
        keep_hours: u32,
        #[command(flatten)]
        secret: SecretArg,
    },
    /// Remove one, with what was kept of its deliveries.
    Remove {
        /// Its id.
        id: HookId,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Show what was delivered in the last fourteen days, and what came of it.
    Deliveries {
        #[command(flatten)]
        project: ProjectArg,
        /// Only what came through this one.
        #[arg(long, value_name = "ID")]
        hook: Option<HookId>,
        /// Only what is in this state.
        #[arg(long, value_parser = word_of(DeliveryState::ALL, DeliveryState::as_str))]
        state: Option<DeliveryState>,
        /// How many, 200 at most.
        #[arg(long, short = 'n', default_value_t = 50)]
        limit: u32,
    },
    /// Have a delivery gone through once more.
    Replay {
        /// Its id, as `hooks deliveries` shows it.
        id: DeliveryId,
        #[command(flatten)]
        project: ProjectArg,
    },
}

/// A secret, which never stands in the command line: others can read that.
#[derive(Debug, Args)]
pub struct SecretArg {
    /// File with a secret that the sender knows already, such as GitLab's signing token; `-` reads standard
    /// input. Without it the service makes one.
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<PathBuf>,
}

/// Subcommands of `connections`.
#[derive(Debug, Subcommand)]
pub enum ConnectionsCommand {
    /// Have a system asked on the project's behalf, now and from now on.
    Add {
        /// The operator's name for it, as `connections systems` lists it; `git` for a repository that is asked by git
        /// alone.
        system: String,
        /// What of it: a repository (owner/name; for `git` as the project has indexed it), a project's key or
        /// identifier, a space's key.
        what: String,
        #[command(flatten)]
        project: ProjectArg,
        /// What it is asked for; without it the first that such systems have.
        #[arg(long, value_parser = word_of(Ability::ALL, Ability::as_str))]
        ability: Option<Ability>,
        /// How often it is asked, every 5 to 1,440 minutes.
        #[arg(long, default_value_t = 15, value_name = "N")]
        every_minutes: u32,
        /// Leave out what people say about issues.
        #[arg(long)]
        no_comments: bool,
    },
    /// List the project's, how far each is that is at work, and what came last.
    List {
        #[command(flatten)]
        project: ProjectArg,
    },
    /// List the systems that the project may be connected to.
    Systems {
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Have a system asked now.
    Sync {
        /// The connection's id, as `connections list` shows it.
        id: ConnectionId,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Have a system asked no more until it is resumed.
    Pause {
        /// The connection's id.
        id: ConnectionId,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Have a system asked again.
    Resume {
        /// The connection's id.
        id: ConnectionId,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Have a system asked no more at all. What came by the connection stays.
    Remove {
        /// The connection's id.
        id: ConnectionId,
        #[command(flatten)]
        project: ProjectArg,
        /// Forget what came by it as well: documents, and what was told of tasks.
        #[arg(long)]
        forget: bool,
    },
}

/// Subcommands of `hygiene`.
#[derive(Debug, Subcommand)]
pub enum HygieneCommand {
    /// Show the newest reports.
    List {
        #[command(flatten)]
        project: ProjectArg,
        /// Only those of this task.
        #[arg(long, value_parser = word_of(HygieneTask::ALL, HygieneTask::as_str))]
        task: Option<HygieneTask>,
        /// How many, 200 at most.
        #[arg(long, short = 'n', default_value_t = 50)]
        limit: u32,
    },
    /// Show one report with what was found.
    Show {
        /// Its id, as `hygiene list` shows it.
        id: HygieneReportId,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Have a task done now.
    Run {
        /// Which.
        #[arg(value_parser = word_of(HygieneTask::ALL, HygieneTask::as_str))]
        task: HygieneTask,
        #[command(flatten)]
        project: ProjectArg,
        /// Only look, and report what would be done.
        #[arg(long)]
        dry_run: bool,
        /// With `expiry`: what becomes of the records whose end waits for a person.
        #[arg(long, value_parser = word_of(HeldEnds::ALL, HeldEnds::as_str))]
        held_ends: Option<HeldEnds>,
    },
    /// Show the records that say the same and wait for a person; for those who review, as `accept` and `dismiss`.
    Duplicates {
        #[command(flatten)]
        project: ProjectArg,
        /// How many, 200 at most.
        #[arg(long, short = 'n', default_value_t = 50)]
        limit: u32,
    },
    /// Have one of such records take the place of the others.
    Accept {
        /// Id of the cluster, as `hygiene duplicates` shows it.
        id: ClusterId,
        #[command(flatten)]
        project: ProjectArg,
        /// The record that stays; the first one without it.
        #[arg(long, value_name = "ID")]
        keep: Option<RecordId>,
    },
    /// Say that such records are not the same.
    Dismiss {
        /// Id of the cluster.
        id: ClusterId,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Show the records that help nobody and were set aside (`hygiene.noise` of the policy); for those who review, as
    /// `keep` and `drop`.
    Noise {
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Have such a record found again.
    Keep {
        /// Its id, as `hygiene noise` shows it.
        id: RecordId,
        /// The version that you looked at.
        #[arg(long, value_name = "VERSION")]
        seen: u32,
    },
    /// Take such a record out.
    Drop {
        /// Its id.
        id: RecordId,
        /// Why, for the audit.
        #[arg(long, default_value = "it helps nobody")]
        reason: String,
    },
    /// List what was kept, week by week, of what the team knows; for members.
    Exports {
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Print one of them, as `import` reads it.
    Export {
        /// Its id, as `hygiene exports` shows it.
        id: ExportId,
        #[command(flatten)]
        project: ProjectArg,
        /// File to write; standard output without it.
        #[arg(long, short)]
        output: Option<PathBuf>,
    },
}

/// Subcommands of `jobs`.
#[derive(Debug, Subcommand)]
pub enum JobsCommand {
    /// Show the newest.
    List {
        /// Only those in this state.
        #[arg(long, value_parser = word_of(JobState::ALL, JobState::as_str))]
        state: Option<JobState>,
        /// Only those of this kind, such as sync.
        #[arg(long)]
        kind: Option<String>,
        /// How many, 200 at most.
        #[arg(long, short = 'n', default_value_t = 50)]
        limit: u32,
    },
    /// Show one with all that is known of it.
    Show {
        /// Its id, as `jobs list` shows it.
        id: String,
    },
    /// Have one that was given up begin anew.
    Retry {
        /// Its id.
        id: String,
    },
    /// Throw one away that was given up, or has not begun.
    Discard {
        /// Its id.
        id: String,
    },
}

/// Subcommands of `audit`.
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Show the newest events.
    List {
        #[command(flatten)]
        of: AuditOf,
        /// Only what this user did.
        #[arg(long, value_name = "LOGIN")]
        actor: Option<String>,
        /// Only this action, such as record.saved.
        #[arg(long)]
        action: Option<String>,
        /// How many, 200 at most.
        #[arg(long, short = 'n', default_value_t = 50)]
        limit: u32,
    },
    /// Write every event as JSON Lines, oldest first.
    Export {
        #[command(flatten)]
        of: AuditOf,
        /// File to write; standard output without it.
        #[arg(long, short)]
        output: Option<PathBuf>,
    },
    /// Find the first event that was changed, removed or moved; fails where there is one.
    Verify(AuditOf),
}

/// Whose audit.
#[derive(Debug, Args)]
pub struct AuditOf {
    /// Project key; without it the service's own audit: logins, users, teams, projects that come and go.
    #[arg(long, short, value_name = "KEY")]
    pub project: Option<String>,
    /// Id of a project that was removed, as the service's event project.deleted has it.
    #[arg(long, value_name = "ID", conflicts_with = "project")]
    pub removed: Option<String>,
}

/// Arguments of `backup`.
#[derive(Debug, Args)]
pub struct BackupArgs {
    /// File to write, there once it is whole; `-` writes to standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
}

/// Arguments of `restore`.
#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// The backup.
    pub file: PathBuf,
    /// Restore although the sealing key is lost: what it sealed stays closed for good (secrets of webhooks and
    /// notices, keys that sign logins, what is held in quarantine), and the audit can't be verified.
    #[arg(long)]
    pub without_key: bool,
}

/// Arguments of `sanitize`.
#[derive(Debug, Args)]
pub struct SanitizeArgs {
    /// File to look through; `-` reads standard input.
    pub file: PathBuf,
    /// Print the whole text as it would be stored.
    #[arg(long)]
    pub masked: bool,
}

/// Subcommands of `config`.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print what is in force, secrets masked.
    Show,
}

/// Subcommands of `cursor`.
#[derive(Debug, Subcommand)]
pub enum CursorCommand {
    /// Write .cursor/mcp.json and the rule that makes the assistant use the memory.
    Install {
        /// Folder of the project.
        #[arg(long = "project", value_name = "DIR", default_value = ".")]
        dir: PathBuf,
        /// Project key; made of the folder's name without it.
        #[arg(long, value_name = "KEY")]
        key: Option<String>,
    },
}

/// A word of a vocabulary; the help and the completions list them.
fn word_of<T>(all: &'static [T], as_str: fn(T) -> &'static str) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = UnknownValue> + Copy + Send + Sync + 'static,
{
    let words = PossibleValuesParser::new(all.iter().map(|word| as_str(*word)));
    words.try_map(|word| word.parse::<T>())
}
