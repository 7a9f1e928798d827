//! The command line.

mod accounts;
mod aelp;
mod clients;
mod examples;
mod memory;
mod operations;
mod patch;
mod people;
mod projects;
mod providers;
mod records;
mod report;
mod repos;
mod review;
mod sgr;
mod tool;
mod workspaces;

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context as _, Result};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use mc_domain::{ProjectKey, UnknownValue};

pub use self::accounts::*;
pub use self::aelp::*;
pub use self::clients::*;
pub use self::memory::*;
pub use self::operations::*;
pub use self::patch::*;
pub use self::people::*;
pub use self::projects::*;
pub use self::providers::*;
pub use self::records::*;
pub use self::report::*;
pub use self::repos::*;
pub use self::review::*;
pub use self::sgr::*;
pub use self::tool::*;
pub use self::workspaces::*;

/// A team's long-term memory for people who code with AI assistants.
///
/// Before the assistant answers, `recall` returns what the team knows about the code at hand:
/// facts, warnings, worked examples and decisions. After the work, `save` stores what was learned.
/// The service also indexes repositories and documents, so one query searches all of them.
#[derive(Debug, Parser)]
#[command(
    name = "memory-copilot",
    version,
    about,
    after_help = examples::FIRST_STEPS
)]
pub struct Cli {
    /// Configuration file (YAML).
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print JSON instead of text.
    #[arg(long, global = true)]
    pub json: bool,
    /// Command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// Commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the service: database, REST API, /mcp, indexing.
    Serve,
    /// Run background jobs only, alongside one or more `serve` on the same database.
    #[command(after_help = examples::WORKER)]
    Worker,
    /// Run an MCP server on standard input and output, for an IDE.
    Mcp(McpArgs),
    /// Index a repository (a path or a git URL) and show its progress.
    Ingest(IngestArgs),
    /// Manage the indexed repositories of a project.
    #[command(subcommand, after_help = examples::REPOS)]
    Repos(ReposCommand),
    /// List and delete the workspaces of a project.
    #[command(subcommand, after_help = examples::WORKSPACES)]
    Workspaces(WorkspacesCommand),
    /// Check and apply patches of models.
    #[command(subcommand, after_help = examples::PATCH)]
    Patch(PatchCommand),
    /// Recall what the team knows about code or a question.
    Recall(RecallArgs),
    /// Save a record.
    Save(SaveArgs),
    /// Search memory, documents, code and dialogs.
    Search(SearchArgs),
    /// Call a tool of the MCP server, and print the text that a model reads.
    #[command(subcommand, after_help = examples::TOOL)]
    Tool(ToolCall),
    /// Read, edit, delete and restore records.
    #[command(subcommand, after_help = examples::RECORDS)]
    Records(RecordsCommand),
    /// Export the project's records as YAML.
    Export(ExportArgs),
    /// Import records, or propose notes from rules files, decision records and other programs.
    #[command(after_help = examples::IMPORT)]
    Import(ImportArgs),
    /// Print the weekly report of a project: changes, uses, decisions, figures and health.
    #[command(after_help = examples::REPORT)]
    Report(ReportArgs),
    /// Measure retrieval on data in the BEIR layout.
    Eval(EvalArgs),
    /// Sign in to the service at client.url.
    Login(LoginArgs),
    /// Sign out this machine.
    Logout(LogoutArgs),
    /// Show the user and scopes of your credential.
    Whoami,
    /// Manage the users of the service; for its administrators.
    #[command(subcommand, after_help = examples::USERS)]
    Users(UsersCommand),
    /// Manage teams, which give their members roles on projects.
    #[command(subcommand, after_help = examples::TEAMS)]
    Teams(TeamsCommand),
    /// Manage projects.
    #[command(subcommand, after_help = examples::PROJECTS)]
    Projects(ProjectsCommand),
    /// Manage the roles of users and teams on a project; for its administrators.
    #[command(subcommand, after_help = examples::MEMBERS)]
    Members(MembersCommand),
    /// Show and change a project's policy; for its maintainers.
    #[command(subcommand, after_help = examples::POLICY)]
    Policy(PolicyCommand),
    /// Show reasoning schemas, and set a project's own; for its maintainers.
    #[command(subcommand, after_help = examples::SGR)]
    Sgr(SgrCommand),
    /// Show the system prompt, its versions and the trial of a new one; change it, for maintainers.
    #[command(subcommand, after_help = examples::AELP)]
    Aelp(AelpCommand),
    /// Manage personal access tokens.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Show, export and verify the audit log.
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
    /// Decide about texts that the policy withholds; for a project's maintainers.
    #[command(subcommand, after_help = examples::QUARANTINE)]
    Quarantine(QuarantineCommand),
    /// List and download the weekly exports of a project's records; for its members.
    #[command(subcommand)]
    Exports(ExportsCommand),
    /// Manage background jobs; for administrators of the service.
    #[command(subcommand, after_help = examples::JOBS)]
    Jobs(JobsCommand),
    /// Back up the database to a file. The service may be running.
    #[command(after_help = examples::BACKUP)]
    Backup(BackupArgs),
    /// Restore a backup into an empty database.
    #[command(after_help = examples::RESTORE)]
    Restore(RestoreArgs),
    /// Show the secrets and personal data that would be masked in a file; needs no service.
    Sanitize(SanitizeArgs),
    /// Check the installation and suggest fixes.
    Doctor,
    /// Show the configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Set up a project for a client: Claude Code, Cursor, VS Code, Zed or Junie.
    #[command(subcommand, after_help = examples::CLIENT)]
    Client(ClientCommand),
    /// Run at an event of Claude Code; `client install claude-code` writes these commands.
    #[command(subcommand)]
    Hook(HookCommand),
    /// Print completions for a shell.
    Completions {
        /// Shell to print the completions of.
        shell: clap_complete::Shell,
    },
}

/// The project of a command.
#[derive(Debug, Args)]
pub struct ProjectArg {
    /// Project key.
    #[arg(long, short, env = "MEMORY_COPILOT_PROJECT", value_name = "KEY")]
    pub project: String,
}

impl ProjectArg {
    /// Returns the validated key.
    pub fn key(&self) -> Result<ProjectKey> {
        let key = &self.project;
        ProjectKey::parse(key).with_context(|| format!("--project {key}"))
    }

    /// Returns the path of a resource of the project: `/projects/<key>/webhooks` of `webhooks`.
    pub fn path(&self, resource: &str) -> Result<String> {
        Ok(format!("/projects/{}/{resource}", self.key()?))
    }
}

/// The page of a list.
#[derive(Debug, Args)]
pub struct PageArgs {
    /// Number of items; at most 200.
    #[arg(long, short = 'n', default_value_t = 50, value_name = "N")]
    pub limit: u32,
    /// Continue after the page that ended with this cursor.
    #[arg(long, value_name = "CURSOR")]
    pub cursor: Option<String>,
}

/// Arguments of `mcp`.
#[derive(Debug, Args)]
pub struct McpArgs {
    /// Default project of calls.
    #[arg(long, short, env = "MEMORY_COPILOT_PROJECT", value_name = "KEY")]
    pub project: Option<String>,
    /// Toolsets to offer: memory, repo, rag, github, coding, files, or all; by default those of the
    /// project's policy, else memory and repo.
    #[arg(long, env = "MEMORY_COPILOT_TOOLSETS", value_delimiter = ',', value_name = "NAMES")]
    pub toolsets: Vec<String>,
}

/// Returns a parser of a fixed set of words, which help and completions list.
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
