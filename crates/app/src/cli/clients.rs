//! Commands that set up clients, and those that clients run.

use std::path::PathBuf;

use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use mc_mcp::clients::Client;

use super::ProjectArg;

/// Subcommands of `client`.
#[derive(Debug, Subcommand)]
pub enum ClientCommand {
    /// Write the client's configuration into a project, and keep what is there.
    Install {
        /// Client.
        #[arg(value_parser = client_parser())]
        client: Client,
        /// Directory of the project.
        #[arg(long, value_name = "DIR", default_value = ".")]
        dir: PathBuf,
        /// Project key; by default made from the directory's name.
        #[arg(long, short, value_name = "KEY")]
        project: Option<String>,
        /// Show the changes without writing them.
        #[arg(long)]
        dry_run: bool,
    },
}

/// Subcommands of `hook`.
#[derive(Debug, Subcommand)]
pub enum HookCommand {
    /// Recall for a prompt: reads the event of a prompt on standard input.
    Prompt(ProjectArg),
    /// Ask the assistant to save what it learned: reads the event of its end on standard input.
    Stop(ProjectArg),
}

fn client_parser() -> impl TypedValueParser<Value = Client> {
    let names = PossibleValuesParser::new(Client::ALL.iter().map(|client| client.as_str()));
    names.map(|name| Client::find(&name).expect("one of the possible values"))
}
