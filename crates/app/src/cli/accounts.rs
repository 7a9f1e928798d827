//! Commands of sign-in, tokens and the audit log.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::PageArgs;

/// Arguments of `login`.
#[derive(Debug, Args)]
pub struct LoginArgs {
    /// Approve a login at another terminal; CODE is the code that it shows. Shows the program and
    /// its scopes, and asks for a confirmation.
    #[arg(long, value_name = "CODE", conflicts_with = "deny")]
    pub approve: Option<String>,
    /// Deny a login at another terminal.
    #[arg(long, value_name = "CODE")]
    pub deny: Option<String>,
    /// Sign in with the code of an invitation, which is asked for, or read from standard input.
    #[arg(long, conflicts_with_all = ["approve", "deny"])]
    pub invitation: bool,
    /// Scope to request: memory:read, memory:write, ingest, ingest:local, coding, github:write or
    /// admin; by default all. The approver can grant only scopes that they have. With --approve:
    /// scope to grant, required without a terminal; by default all requested scopes that you have,
    /// except ingest:local and admin.
    #[arg(long = "scope", alias = "scopes", value_name = "SCOPE")]
    pub scopes: Vec<String>,
}

/// Arguments of `logout`.
#[derive(Debug, Args)]
pub struct LogoutArgs {
    /// Sign out on every machine and in every browser, for example after a theft. Personal access
    /// tokens stay valid.
    #[arg(long)]
    pub all_sessions: bool,
}

/// Subcommands of `token`.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Create a token and print it; it is shown once.
    Create {
        /// Name of the token.
        name: String,
        /// Scope of the token; may be repeated.
        #[arg(long = "scope", required = true, value_name = "SCOPE")]
        scopes: Vec<String>,
        /// Days until it expires; at most 366.
        #[arg(long, default_value_t = 90, value_name = "DAYS")]
        expires_in_days: u32,
        /// Agent (a user with `is_agent`) that the token is for; by default yourself.
        #[arg(long, value_name = "LOGIN")]
        agent: Option<String>,
    },
    /// List your tokens.
    List {
        /// List the tokens of this user; for administrators of the service.
        #[arg(long, value_name = "LOGIN")]
        user: Option<String>,
    },
    /// Revoke a token; administrators of the service can revoke any.
    Revoke {
        /// The token's id, as `token list` shows it.
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
        /// Only the events of this user.
        #[arg(long, value_name = "LOGIN")]
        actor: Option<String>,
        /// Only the events of this action, such as record.saved.
        #[arg(long)]
        action: Option<String>,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Export all events as JSON Lines, oldest first.
    Export {
        #[command(flatten)]
        of: AuditTarget,
        /// Output file; by default standard output.
        #[arg(long, short)]
        output: Option<PathBuf>,
    },
    /// Verify the chain; fails at the first event that was changed, deleted or moved.
    Verify(AuditTarget),
}

/// The chain of an audit command.
#[derive(Debug, Args)]
pub struct AuditTarget {
    /// Project key; by default the service's own audit log: logins, users, teams, and created and
    /// deleted projects.
    #[arg(long, short, value_name = "KEY")]
    pub project: Option<String>,
    /// Id of a deleted project, from the service's event project.deleted.
    #[arg(long, value_name = "ID", conflicts_with = "project")]
    pub project_id: Option<String>,
}
