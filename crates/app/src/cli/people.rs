//! Commands of users and teams.

use clap::{Args, Subcommand};
use mc_contract::text::{Login, ProviderHost, TeamKey};
use mc_domain::Role;

use super::{ConsentArg, PageArgs, value_parser_of};

/// Subcommands of `users`.
#[derive(Debug, Subcommand)]
pub enum UsersCommand {
    /// List the users of the service.
    List {
        #[command(flatten)]
        page: PageArgs,
    },
    /// Invite a person who has no identity provider: creates the account if it does not exist, and
    /// prints a code that signs in once.
    Invite {
        #[command(flatten)]
        user: NewUserArgs,
        /// Days until the code expires; at most 30.
        #[arg(long, default_value_t = 7, value_name = "DAYS")]
        expires_in_days: u32,
        #[command(flatten)]
        consent: ConsentArg,
    },
    /// Create a user without an invitation: an agent, or a person who signs in at an identity
    /// provider.
    Create {
        #[command(flatten)]
        user: NewUserArgs,
        /// It is a program that acts by itself: it proposes, and confirms nothing.
        #[arg(long, conflicts_with = "admin")]
        agent: bool,
    },
    /// Change a user.
    Update {
        /// The user's login.
        #[arg(value_parser = Login::parse)]
        login: Login,
        /// New display name.
        #[arg(long)]
        name: Option<String>,
        /// Whether the user administers the service.
        #[arg(long, value_name = "true|false")]
        admin: Option<bool>,
        /// Whether the account is disabled: it has no access until it is enabled again.
        #[arg(long, value_name = "true|false")]
        disabled: Option<bool>,
    },
    /// List a user's logins at providers such as github.com.
    ProviderLogins {
        /// The user's login.
        #[arg(value_parser = Login::parse)]
        login: Login,
    },
    /// Set the login of a user at a provider, to tie authors of pull requests to users. A sign-in
    /// with GitHub stores it, too.
    SetProviderLogin {
        /// The user's login.
        #[arg(value_parser = Login::parse)]
        login: Login,
        /// Host of the provider's pages, such as github.com.
        #[arg(value_parser = ProviderHost::parse)]
        host: ProviderHost,
        /// The user's login there.
        provider_login: String,
    },
    /// Delete the login of a user at a provider.
    DeleteProviderLogin {
        /// The user's login.
        #[arg(value_parser = Login::parse)]
        login: Login,
        /// Host of the provider's pages.
        #[arg(value_parser = ProviderHost::parse)]
        host: ProviderHost,
    },
    /// Remove a person or agent who leaves: ends all access at once and permanently, and deletes
    /// the private records. What was saved for the team stays.
    Offboard {
        /// The user's login.
        #[arg(value_parser = Login::parse)]
        login: Login,
        /// Who takes over the records that name the user as their owner, and the projects and
        /// teams that have no other administrator.
        #[arg(long, value_name = "LOGIN", value_parser = Login::parse)]
        successor: Option<Login>,
        #[command(flatten)]
        consent: ConsentArg,
    },
}

/// A user to create.
#[derive(Debug, Args)]
pub struct NewUserArgs {
    /// Login: 1 to 64 letters, digits, ".", "_" or "-".
    #[arg(value_parser = Login::parse)]
    pub login: Login,
    /// Display name.
    #[arg(long)]
    pub name: Option<String>,
    /// Email address, by which a first sign-in at an identity provider finds the account.
    #[arg(long)]
    pub email: Option<String>,
    /// The user administers the service.
    #[arg(long)]
    pub admin: bool,
}

/// Subcommands of `teams`.
#[derive(Debug, Subcommand)]
pub enum TeamsCommand {
    /// List your teams; for administrators of the service, all teams.
    List,
    /// Create a team; you become its administrator.
    Create {
        /// Key: 1 to 64 letters, digits, ".", "_" or "-".
        key: String,
        /// Display name; by default the key.
        #[arg(long)]
        name: Option<String>,
    },
    /// List the members of a team.
    Members {
        /// The team's key.
        #[arg(value_parser = TeamKey::parse)]
        team: TeamKey,
    },
    /// Add a user to a team, or change the user's role in it.
    SetMember {
        /// The team's key.
        #[arg(value_parser = TeamKey::parse)]
        team: TeamKey,
        /// The user's login.
        #[arg(value_parser = Login::parse)]
        login: Login,
        /// The role; a project that is shared with the team may give less.
        #[arg(value_parser = value_parser_of(Role::ALL, Role::as_str))]
        role: Role,
    },
    /// Remove a user from a team, and with it the roles that the team gave.
    RemoveMember {
        /// The team's key.
        #[arg(value_parser = TeamKey::parse)]
        team: TeamKey,
        /// The user's login.
        #[arg(value_parser = Login::parse)]
        login: Login,
    },
    /// Delete a team, and with it the roles that its members had through it.
    Delete {
        /// The team's key.
        #[arg(value_parser = TeamKey::parse)]
        team: TeamKey,
        #[command(flatten)]
        consent: ConsentArg,
    },
}
