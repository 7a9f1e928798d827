//! Commands of projects, their members and their policies.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use mc_contract::text::Login;
use mc_domain::Role;

use super::{PageArgs, ProjectArg, value_parser_of};

/// Subcommands of `projects`.
#[derive(Debug, Subcommand)]
pub enum ProjectsCommand {
    /// List the projects on which you have a role.
    List,
    /// Show a project with the sizes of its data.
    Show {
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Create a project; you become its administrator.
    Create {
        /// Key: 1 to 64 letters, digits, ".", "_" or "-".
        key: String,
        /// Display name; by default the key.
        #[arg(long)]
        name: Option<String>,
    },
    /// Show the tokens and the costs of chat models by day, and the rest of today's budget.
    ChatUsage {
        #[command(flatten)]
        project: ProjectArg,
        /// Number of days, 1 to 366.
        #[arg(long, default_value_t = 30)]
        days: u16,
    },
    /// Rename a project. Its key stays, because clients are configured with it.
    Rename {
        #[command(flatten)]
        project: ProjectArg,
        /// New display name.
        name: String,
    },
    /// Delete a project with all its data, except its audit log.
    Delete {
        #[command(flatten)]
        project: ProjectArg,
        #[command(flatten)]
        consent: ConsentArg,
    },
}

/// The consent to a change that can't be undone.
#[derive(Debug, Args)]
pub struct ConsentArg {
    /// Do not ask for a confirmation.
    #[arg(long)]
    pub yes: bool,
}

/// Subcommands of `members`.
#[derive(Debug, Subcommand)]
pub enum MembersCommand {
    /// List the users and teams that have a role on the project.
    List {
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Give a user or a team a role on the project.
    Set {
        #[command(flatten)]
        grantee: GranteeArgs,
        /// The role; of a team the highest that it gives its members.
        #[arg(value_parser = value_parser_of(Role::ALL, Role::as_str))]
        role: Role,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Remove the role of a user or a team on the project.
    Remove {
        #[command(flatten)]
        grantee: GranteeArgs,
        #[command(flatten)]
        project: ProjectArg,
    },
}

/// A user or a team.
#[derive(Debug, Args)]
pub struct GranteeArgs {
    /// A user's login, or with `--team` a team's key. Both have the same form.
    #[arg(value_parser = Login::parse)]
    pub name: Login,
    /// NAME is a team.
    #[arg(long)]
    pub team: bool,
}

/// Subcommands of `policy`.
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Show the project's policy with all its settings, as YAML.
    Show {
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Change settings of the policy; the others stay.
    Set {
        /// FIELD=VALUE, such as tokens.recall=8000; VALUE is YAML.
        #[arg(required = true, value_name = "FIELD=VALUE")]
        settings: Vec<String>,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Reset settings of the policy to their defaults.
    Reset {
        /// Setting or group of settings, such as tokens.recall or hygiene.
        #[arg(required = true, value_name = "FIELD")]
        fields: Vec<String>,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Replace the policy with the YAML of a file; settings that it leaves out get their defaults.
    Apply {
        /// File; `-` reads standard input.
        file: PathBuf,
        #[command(flatten)]
        project: ProjectArg,
        /// Version that the file was made from; by default any is replaced.
        #[arg(long, value_name = "VERSION")]
        policy_version: Option<u32>,
    },
    /// List the versions of the policy, newest first, with who changed what.
    Versions {
        #[command(flatten)]
        project: ProjectArg,
        #[command(flatten)]
        page: PageArgs,
    },
}
