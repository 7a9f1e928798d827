//! The command line.

mod examples;

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context as _, Result};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use mc_domain::{
    Capability, DeliveryId, DeliveryState, DuplicateClusterId, ExpiryDecision, ExportId,
    HygieneRunId, HygieneTask, IntegrationId, JobState, ProjectKey, Provider, RecordId,
    UnknownValue, WebhookId,
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
    /// Manage webhooks, by which providers send events to a project; for its maintainers.
    #[command(subcommand, after_help = examples::WEBHOOKS)]
    Webhooks(WebhooksCommand),
    /// Manage integrations, by which a project polls a provider; for its maintainers.
    #[command(subcommand, after_help = examples::INTEGRATIONS)]
    Integrations(IntegrationsCommand),
    /// Show the connectors that the operator has configured; for a project's maintainers.
    #[command(subcommand)]
    Connectors(ConnectorsCommand),
    /// Run hygiene tasks and show their runs; for a project's maintainers.
    #[command(subcommand, after_help = examples::HYGIENE)]
    Hygiene(HygieneCommand),
    /// Review duplicate records; for a project's reviewers.
    #[command(subcommand, after_help = examples::DUPLICATES)]
    Duplicates(DuplicatesCommand),
    /// Review proposals and demoted records; for a project's reviewers.
    #[command(subcommand, after_help = examples::PROPOSALS)]
    Proposals(ProposalsCommand),
    /// List and download the weekly exports of a project's records; for its members.
    #[command(subcommand)]
    Exports(ExportsCommand),
    /// Manage background jobs; for administrators of the service.
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
    /// Check the installation and suggest fixes.
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

impl ProjectArg {
    /// The key, checked.
    pub fn key(&self) -> Result<ProjectKey> {
        let key = &self.project;
        ProjectKey::parse(key).with_context(|| format!("--project {key}"))
    }

    /// The path of a resource of the project: `webhooks` is `/projects/<key>/webhooks`.
    pub fn path(&self, resource: &str) -> Result<String> {
        Ok(format!("/projects/{}/{resource}", self.key()?))
    }
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
    pub wait_for_vectors: bool,
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
    #[arg(long = "disable-step", value_name = "STEP")]
    pub disabled_steps: Vec<String>,
    /// Measure once with everything and once without each step, to see what each is worth.
    #[arg(long, conflicts_with = "disabled_steps")]
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
    /// End every login of yours, on every machine and in every browser, at once. For when one may
    /// have been stolen; personal access tokens stay.
    #[arg(long)]
    pub all_sessions: bool,
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
        expires_in_days: u32,
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

/// Subcommands of `webhooks`.
#[derive(Debug, Subcommand)]
pub enum WebhooksCommand {
    /// Create a webhook and print the URL and secret for its provider.
    Create {
        /// The provider that sends the events.
        #[arg(value_parser = value_parser_of(Provider::ALL, Provider::as_str))]
        provider: Provider,
        #[command(flatten)]
        project: ProjectArg,
        #[command(flatten)]
        secret: SecretArg,
    },
    /// List the project's webhooks.
    List {
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Replace a webhook's secret.
    RotateSecret {
        /// The webhook's id, as `webhooks list` shows it.
        id: WebhookId,
        #[command(flatten)]
        project: ProjectArg,
        /// Hours for which the previous secret is accepted too; at most 168.
        #[arg(long, default_value_t = 24, value_name = "N")]
        previous_secret_ttl_hours: u32,
        #[command(flatten)]
        secret: SecretArg,
    },
    /// Delete a webhook and its deliveries.
    Delete {
        /// The webhook's id.
        id: WebhookId,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// List the deliveries of the last fourteen days and their outcomes.
    Deliveries {
        #[command(flatten)]
        project: ProjectArg,
        /// Only the deliveries of this webhook.
        #[arg(long, value_name = "ID")]
        webhook: Option<WebhookId>,
        /// Only the deliveries in this state.
        #[arg(long, value_parser = value_parser_of(DeliveryState::ALL, DeliveryState::as_str))]
        state: Option<DeliveryState>,
        /// Number of deliveries; at most 200.
        #[arg(long, short = 'n', default_value_t = 50)]
        limit: u32,
    },
    /// Process a delivery again.
    Replay {
        /// The delivery's id, as `webhooks deliveries` shows it.
        id: DeliveryId,
        #[command(flatten)]
        project: ProjectArg,
    },
}

/// A secret. It is never an argument, since other users of the machine can read those.
#[derive(Debug, Args)]
pub struct SecretArg {
    /// File with a secret that the provider already has, such as GitLab's signing token; `-` reads
    /// standard input. Without it the service generates one.
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<PathBuf>,
}

/// Subcommands of `integrations`.
#[derive(Debug, Subcommand)]
pub enum IntegrationsCommand {
    /// Create an integration and start its first sync.
    Create {
        /// The connector's name, as `connectors list` shows it; `git` for a repository that is
        /// polled with git alone.
        connector: String,
        /// The resource: a repository (owner/name; for `git` as the project has indexed it), a
        /// project's key or identifier, or a space's key.
        resource: String,
        #[command(flatten)]
        project: ProjectArg,
        /// The data to sync; without it the first capability of the connector.
        #[arg(long, value_parser = value_parser_of(Capability::ALL, Capability::as_str))]
        capability: Option<Capability>,
        /// Minutes between two syncs: 5 to 1,440.
        #[arg(long, default_value_t = 15, value_name = "N")]
        interval_minutes: u32,
        /// Leave out the comments on issues.
        #[arg(long)]
        no_comments: bool,
    },
    /// List the project's integrations with their current and last runs.
    List {
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Start a sync now.
    Sync {
        /// The integration's id, as `integrations list` shows it.
        id: IntegrationId,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Pause an integration until it is resumed.
    Pause {
        /// The integration's id.
        id: IntegrationId,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Resume a paused integration.
    Resume {
        /// The integration's id.
        id: IntegrationId,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Delete an integration. The data that it synced stays.
    Delete {
        /// The integration's id.
        id: IntegrationId,
        #[command(flatten)]
        project: ProjectArg,
        /// Also delete the data that it synced: documents, and the provider's data of tasks.
        #[arg(long)]
        purge: bool,
    },
}

/// Subcommands of `connectors`.
#[derive(Debug, Subcommand)]
pub enum ConnectorsCommand {
    /// List the connectors that the project may use.
    List {
        #[command(flatten)]
        project: ProjectArg,
    },
}

/// Subcommands of `hygiene`.
#[derive(Debug, Subcommand)]
pub enum HygieneCommand {
    /// List the newest hygiene runs.
    List {
        #[command(flatten)]
        project: ProjectArg,
        /// Only the runs of this task.
        #[arg(long, value_parser = value_parser_of(HygieneTask::ALL, HygieneTask::as_str))]
        task: Option<HygieneTask>,
        /// Number of runs; at most 200.
        #[arg(long, short = 'n', default_value_t = 50)]
        limit: u32,
    },
    /// Show a hygiene run and its findings.
    Show {
        /// The run's id, as `hygiene list` shows it.
        id: HygieneRunId,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Run a hygiene task now.
    Run {
        /// The task.
        #[arg(value_parser = value_parser_of(HygieneTask::ALL, HygieneTask::as_str))]
        task: HygieneTask,
        #[command(flatten)]
        project: ProjectArg,
        /// Change nothing; report what the task would change.
        #[arg(long)]
        dry_run: bool,
        /// With `expiry`: the decision about records whose expiry is suspended.
        #[arg(long, value_parser = value_parser_of(ExpiryDecision::ALL, ExpiryDecision::as_str))]
        expiry_decision: Option<ExpiryDecision>,
    },
}

/// Subcommands of `duplicates`.
#[derive(Debug, Subcommand)]
pub enum DuplicatesCommand {
    /// List the clusters of duplicate records that wait for a decision.
    List {
        #[command(flatten)]
        project: ProjectArg,
        /// Number of clusters; at most 200.
        #[arg(long, short = 'n', default_value_t = 50)]
        limit: u32,
    },
    /// Merge the records of a cluster into one.
    Merge {
        /// The cluster's id, as `duplicates list` shows it.
        id: DuplicateClusterId,
        #[command(flatten)]
        project: ProjectArg,
        /// The record to keep; without it the first of the cluster.
        #[arg(long, value_name = "ID")]
        keep: Option<RecordId>,
    },
    /// Dismiss a cluster: its records are not duplicates.
    Dismiss {
        /// The cluster's id.
        id: DuplicateClusterId,
        #[command(flatten)]
        project: ProjectArg,
    },
}

/// Subcommands of `proposals`.
#[derive(Debug, Subcommand)]
pub enum ProposalsCommand {
    /// List the proposals that wait for a reviewer.
    List {
        #[command(flatten)]
        project: ProjectArg,
        /// Only the records that hygiene demoted (`hygiene.unused_records` of the policy).
        #[arg(long)]
        demoted: bool,
    },
    /// Accept a proposal; a demoted record is recalled again.
    Accept {
        /// The record's id, as `proposals list` shows it.
        id: RecordId,
        /// The version that you reviewed.
        #[arg(long, value_name = "VERSION")]
        record_version: u32,
    },
    /// Reject a proposal; a demoted record is deleted.
    Reject {
        /// The record's id.
        id: RecordId,
        /// The reason, for the audit log.
        #[arg(long, default_value = "not useful")]
        reason: String,
    },
}

/// Subcommands of `exports`.
#[derive(Debug, Subcommand)]
pub enum ExportsCommand {
    /// List the weekly exports of the project's records.
    List {
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Download an export in the format that `import` reads.
    Download {
        /// The export's id, as `exports list` shows it.
        id: ExportId,
        #[command(flatten)]
        project: ProjectArg,
        /// Output file; without it standard output.
        #[arg(long, short)]
        output: Option<PathBuf>,
    },
}

/// Subcommands of `jobs`.
#[derive(Debug, Subcommand)]
pub enum JobsCommand {
    /// List the newest jobs.
    List {
        /// Only the jobs in this state.
        #[arg(long, value_parser = value_parser_of(JobState::ALL, JobState::as_str))]
        state: Option<JobState>,
        /// Only the jobs of this kind, such as `sync_integration`.
        #[arg(long)]
        kind: Option<String>,
        /// Number of jobs; at most 200.
        #[arg(long, short = 'n', default_value_t = 50)]
        limit: u32,
    },
    /// Show a job with all its fields.
    Show {
        /// The job's id, as `jobs list` shows it.
        id: String,
    },
    /// Retry a discarded job.
    Retry {
        /// The job's id.
        id: String,
    },
    /// Delete a job that is discarded or has not started.
    Delete {
        /// The job's id.
        id: String,
    },
}

/// Subcommands of `audit`.
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Show the newest events.
    List {
        #[command(flatten)]
        of: AuditTarget,
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
        of: AuditTarget,
        /// File to write; standard output without it.
        #[arg(long, short)]
        output: Option<PathBuf>,
    },
    /// Find the first event that was changed, removed or moved; fails where there is one.
    Verify(AuditTarget),
}

/// Whose audit.
#[derive(Debug, Args)]
pub struct AuditTarget {
    /// Project key; without it the service's own audit: logins, users, teams, projects that come
    /// and go.
    #[arg(long, short, value_name = "KEY")]
    pub project: Option<String>,
    /// Id of a project that was removed, as the service's event project.deleted has it.
    #[arg(long, value_name = "ID", conflicts_with = "project")]
    pub project_id: Option<String>,
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
    /// Restore although the encryption key is lost: the data that it encrypted stays unreadable
    /// (secrets of webhooks and notices, keys that sign logins, what is held in quarantine), and
    /// the audit can't be verified.
    #[arg(long)]
    pub without_encryption_key: bool,
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
        #[arg(long, value_name = "DIR", default_value = ".")]
        dir: PathBuf,
        /// Project key; made of the folder's name without it.
        #[arg(long, short, value_name = "KEY")]
        project: Option<String>,
    },
}

/// A word of a vocabulary; the help and the completions list them.
fn value_parser_of<T>(
    all: &'static [T],
    as_str: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = UnknownValue> + Copy + Send + Sync + 'static,
{
    let words = PossibleValuesParser::new(all.iter().map(|word| as_str(*word)));
    words.try_map(|word| word.parse::<T>())
}
