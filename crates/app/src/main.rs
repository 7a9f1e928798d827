//! The binary `memory-copilot`: parses the command line, loads the configuration and runs a
//! command.

mod api_client;
mod api_hints;
mod audit_heads;
mod background;
#[cfg(test)]
#[path = "../../../tests/cache.rs"]
mod cache;
mod cli;
mod commands;
mod config;
mod connectors;
mod credentials;
mod data_dir;
mod database;
#[cfg(test)]
#[path = "../../../tests/embedding_server.rs"]
mod embedding_server;
mod encryption_key;
mod input;
mod logging;
mod node;
mod output;
mod parsers;
mod private_file;
mod progress;
mod prompt;
mod redis;
mod serve;
mod terminal;
#[cfg(test)]
#[path = "../../../tests/tiny_model.rs"]
mod tiny_model;
mod token;
mod worker;

use std::io;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{CommandFactory, Parser};
use rustix::fs::Mode;
use rustix::process::umask;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use api_client::ApiClient;
use cli::{Cli, Command, ConfigCommand, EvalArgs, EvalCommand};
use commands::ingest::Interrupted;
use config::Config;
use output::Format;

/// Exit code of a command that SIGINT ended, as shells report it.
const INTERRUPTED: u8 = 130;

/// Returns freed memory to the system. With the allocator of the system, the memory of a service
/// doubled after thousands of saves.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    if let Some(exit_code) = parsers::serve_if_child() {
        return exit_code;
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == mc_sandbox::PROCESS_ARGUMENT) {
        return mc_sandbox::serve();
    }
    // Before the first thread and the first file: no other user may use what the program creates.
    umask(Mode::RWXG | Mode::RWXO);
    logging::log_panics();
    let cli = parse_arguments();
    if let Command::Completions { shell } = cli.command {
        clap_complete::generate(shell, &mut Cli::command(), "memory-copilot", &mut io::stdout());
        return ExitCode::SUCCESS;
    }
    match prepare(&cli).and_then(|config| Ok((config, runtime()?))) {
        Ok((config, runtime)) => runtime.block_on(run_to_exit(cli, config)),
        Err(error) => {
            report_error(&error);
            ExitCode::FAILURE
        }
    }
}

/// Loads the configuration, and gives up the privileges of root that the program does not use. A
/// service, which works on data from outside, has the others only while it uses them.
fn prepare(cli: &Cli) -> Result<Config> {
    const FAILED: &str = "the privileges of root can't be dropped; give the program the \
        capabilities CAP_SETUID and CAP_SETGID, or run it as another user";
    mc_privileges::drop_unused_capabilities().context(FAILED)?;
    let config = Config::load(cli.config.as_deref())?;
    if matches!(cli.command, Command::Serve | Command::Worker) {
        mc_privileges::lower_privileges().context(FAILED)?;
    }
    Ok(config)
}

/// Stack size of each thread, in bytes; unused pages take no memory. `make run` and `make demo`
/// build without optimization, and a request then needs more than the default of 2 MiB.
const THREAD_STACK_BYTES: usize = 8 << 20;

/// Starts the threads of the program.
fn runtime() -> Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.enable_all().thread_stack_size(THREAD_STACK_BYTES).build();
    runtime.context("the threads of the program can't be started")
}

async fn run_to_exit(cli: Cli, config: Config) -> ExitCode {
    let outcome = Box::pin(run(cli, config)).await;
    // Ends all calls of parsers, because the runtime waits for the threads that they block.
    mc_parser_pool::stop();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report_error(&error);
            exit_code(&error)
        }
    }
}

/// Returns the code of a failure, or of a command that a signal ended.
fn exit_code(error: &anyhow::Error) -> ExitCode {
    if error.is::<Interrupted>() { ExitCode::from(INTERRUPTED) } else { ExitCode::FAILURE }
}

/// Parses the command line. An error ends the program; its message is masked, because it quotes the
/// arguments.
fn parse_arguments() -> Cli {
    Cli::try_parse().unwrap_or_else(|error| {
        let message = error.to_string();
        if !error.use_stderr() || logging::plain(&message) == message {
            error.exit();
        }
        output::error_line(&message);
        std::process::exit(error.exit_code());
    })
}

async fn run(cli: Cli, config: Config) -> Result<()> {
    logging::init(&config.log)?;
    let format = if cli.json { Format::Json } else { Format::Text };
    let remote = ApiClient::new(&config)?;
    match cli.command {
        Command::Serve => {
            let stop = cancelled_on_signals()?;
            database::retry_until_reachable(&stop, async || {
                Box::pin(serve::run(&config, stop.clone())).await
            })
            .await
        }
        Command::Worker => {
            let stop = cancelled_on_signals()?;
            database::retry_until_reachable(&stop, async || {
                worker::run(&config, stop.clone()).await
            })
            .await
        }
        Command::Mcp(args) => commands::mcp::run(args, &config, cancelled_on_signals()?).await,
        Command::Ingest(args) => {
            commands::ingest::run(args, &remote, format, cancelled_on_signals).await
        }
        Command::Recall(args) => commands::recall::run(args, &remote, format).await,
        Command::Save(args) => commands::save::run(args, &remote, format).await,
        Command::Search(args) => commands::search::run(args, &remote, format).await,
        Command::Tool(call) => commands::tool::run(call, remote, format).await,
        Command::Export(args) => commands::export::run(args, &remote, format).await,
        Command::Import(args) => commands::import::run(args, &remote, format).await,
        Command::Eval(EvalArgs { command: Some(EvalCommand::Judge(args)), .. }) => {
            commands::eval::judge::run(&args, &config, format).await
        }
        Command::Eval(EvalArgs { command: Some(EvalCommand::Help(args)), .. }) => {
            commands::eval::help::run(&args, &remote, &config, format).await
        }
        Command::Eval(args) => commands::eval::run(args, &remote, format).await,
        Command::Report(args) => commands::report::run(args, &remote, format).await,
        Command::Login(args) => {
            commands::login::run(args, &remote, &config, cancelled_on_signals).await
        }
        Command::Logout(args) => commands::login::out(&args, &remote, &config).await,
        Command::Whoami => commands::login::whoami(&remote, format).await,
        Command::Token(command) => commands::token::run(command, &remote, format).await,
        Command::Audit(command) => commands::audit::run(command, &remote, format).await,
        Command::Webhooks(command) => {
            commands::webhooks::run(command, &remote, &config, format).await
        }
        Command::Integrations(command) => {
            commands::integrations::run(command, &remote, format).await
        }
        Command::Connectors(command) => {
            commands::integrations::connectors(command, &remote, format).await
        }
        Command::Hygiene(command) => commands::hygiene::run(command, &remote, format).await,
        Command::Duplicates(command) => commands::duplicates::run(command, &remote, format).await,
        Command::Proposals(command) => commands::proposals::run(command, &remote, format).await,
        Command::Quarantine(command) => commands::quarantine::run(command, &remote, format).await,
        Command::Records(command) => commands::records::run(command, &remote, format).await,
        Command::Repos(command) => {
            commands::repos::run(command, &remote, format, cancelled_on_signals).await
        }
        Command::Workspaces(command) => commands::workspaces::run(command, &remote, format).await,
        Command::Patch(command) => commands::patch::run(&command, format),
        Command::Users(command) => commands::users::run(command, &remote, format).await,
        Command::Teams(command) => commands::teams::run(command, &remote, format).await,
        Command::Projects(command) => commands::projects::run(command, &remote, format).await,
        Command::Members(command) => commands::projects::members(command, &remote, format).await,
        Command::Policy(command) => commands::policy::run(command, &remote, format).await,
        Command::Aelp(command) => commands::aelp::run(command, &remote, format).await,
        Command::Sgr(command) => commands::sgr::run(command, &remote, format).await,
        Command::Exports(command) => commands::exports::run(command, &remote, format).await,
        Command::Jobs(command) => commands::jobs::run(command, &remote, format).await,
        Command::Backup(args) => {
            commands::backup::run(&args, &config, cancelled_on_signals()?, format).await
        }
        Command::Restore(args) => {
            commands::restore::run(&args, &config, cancelled_on_signals()?, format).await
        }
        Command::Sanitize(args) => commands::sanitize::run(&args, format),
        Command::Doctor => commands::doctor::run(&config, format).await,
        Command::Config(ConfigCommand::Show) => commands::config::show(&config, format),
        Command::Client(command) => commands::client::run(command, &config, format),
        Command::Hook(command) => commands::hook::run(command, remote).await,
        Command::Completions { .. } => unreachable!("printed before the configuration is read"),
    }
}

/// Returns a token that SIGTERM and SIGINT cancel, for commands that clean up before they end. A
/// second signal ends the process at once.
fn cancelled_on_signals() -> Result<CancellationToken> {
    let shutdown = CancellationToken::new();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let cancelled = shutdown.clone();
    tokio::spawn(async move {
        for _ in 0..2 {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if cancelled.is_cancelled() {
                std::process::exit(INTERRUPTED.into());
            }
            cancelled.cancel();
        }
    });
    Ok(shutdown)
}

/// Prints the error and its causes on standard error, one per line.
fn report_error(error: &anyhow::Error) {
    let causes: String =
        error.chain().skip(1).map(|cause| format!("\n  because: {cause}")).collect();
    output::error_line(&format!("memory-copilot: {error}{causes}"));
}
