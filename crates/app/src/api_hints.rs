//! The hints of API errors as commands. An error names the operations of the REST API that help. A
//! person at a terminal needs the commands that do the same.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// Operations as the errors of the service write them, and the commands in their place. An earlier
/// entry applies first. Operations without a command stay.
const COMMANDS: &[(&str, &str)] = &[
    // The command precedes these.
    (r#", or with POST /projects \{"key": "[^"]*"\}"#, ""),
    (r", or\s+with POST /tokens and `agent_login`", ""),
    (r#", or\s+with PATCH /users/\S+ \{"is_disabled": false\}"#, ""),
    (r#"POST /projects \{"key": "([^"]*)"\}"#, "memory-copilot projects create $1"),
    (
        r#"PUT /projects/(\S+)/members/<its login> \{"role": "agent"\}"#,
        "memory-copilot members set LOGIN agent --project $1",
    ),
    (
        r#"POST /projects/(\S+)/hygiene-runs \{"task": "duplicates"\}"#,
        "memory-copilot hygiene run duplicates --project $1",
    ),
    (r"GET /projects/(\S+)/duplicates\b", "memory-copilot duplicates list --project $1"),
    (r"GET /projects/(\S+)/hygiene-runs\b", "memory-copilot hygiene list --project $1"),
    (r"GET /projects/(\S+)/exports\b", "memory-copilot exports list --project $1"),
    (r"GET /projects/(\S+)/integrations\b", "memory-copilot integrations list --project $1"),
    (r"GET /projects/(\S+)/webhooks\b", "memory-copilot webhooks list --project $1"),
    (
        r"GET /projects/(\S+)/webhook-deliveries\b",
        "memory-copilot webhooks deliveries --project $1",
    ),
    (r"POST\s+/projects/(\S+)/integrations\b", "memory-copilot integrations create --project $1"),
    (r"GET /projects/(\S+)/policy\b", "memory-copilot policy show --project $1"),
    (r"PUT /projects/(\S+)/policy\b", "memory-copilot policy set --project $1"),
    (r"GET /records/\{id\}", "memory-copilot records history"),
    (r"GET /records\b", "memory-copilot records list"),
    (r"GET /proposals\b", "memory-copilot proposals list"),
    (r"DELETE /quarantine/\{id\}", "memory-copilot quarantine delete"),
    (r"GET /quarantine\b", "memory-copilot quarantine list"),
    (r"GET /jobs\?state=(\w+)", "memory-copilot jobs list --state $1"),
    (r"GET /jobs\b", "memory-copilot jobs list"),
    (r"GET /users\b", "memory-copilot users list"),
    (r"POST /users\b", "memory-copilot users create"),
    (r"GET /teams\b", "memory-copilot teams list"),
    (r"GET /tokens\?user=", "memory-copilot token list --user LOGIN"),
    (r"GET /tokens\b", "memory-copilot token list"),
    (r"GET /audit\?action=(\S+)", "memory-copilot audit list --action $1"),
    (r"POST /ingest/git\b", "memory-copilot ingest"),
    (r"POST /search\b", "memory-copilot search"),
    (r"POST /save\b", "memory-copilot save"),
];

static OPERATIONS: LazyLock<Vec<(Regex, String)>> = LazyLock::new(|| {
    let quoted = |command: &str| match command {
        "" => String::new(),
        command => format!("`{command}`"),
    };
    let compile = |(operation, command): &(&str, &str)| {
        (Regex::new(operation).expect("tested below"), quoted(command))
    };
    COMMANDS.iter().map(compile).collect()
});

/// Replaces the operations in the message of an error by commands.
pub fn as_commands(message: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(message);
    for (operation, command) in OPERATIONS.iter() {
        if let Cow::Owned(replaced) = operation.replace_all(&text, command.as_str()) {
            text = Cow::Owned(replaced);
        }
    }
    match text {
        Cow::Owned(text) => Cow::Owned(text.replace("{key}", "KEY").replace("<key>", "KEY")),
        unchanged @ Cow::Borrowed(_) => unchanged,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn operations_become_commands() {
        for (message, expected) in [
            ("GET /records lists those of a project", "`memory-copilot records list` lists those"),
            ("GET /records/{id} lists those it has", "`memory-copilot records history` lists"),
            (
                "GET /projects/{key}/duplicates lists those",
                "`memory-copilot duplicates list --project KEY` lists",
            ),
            (
                "create it with `memory-copilot projects create x`, or with POST /projects \
                 {\"key\": \"x\"}, or ask",
                "create it with `memory-copilot projects create x`, or ask",
            ),
            ("its policy: PUT /projects/<key>/policy", "`memory-copilot policy set --project KEY`"),
            ("GET /tokens lists yours, and GET /tokens?user= those", "token list --user LOGIN`"),
        ] {
            let text = as_commands(message);
            assert!(text.contains(expected), "{message}: {text}");
        }
        assert_eq!(
            as_commands("GET /openapi.json lists the paths"),
            "GET /openapi.json lists the paths"
        );
    }

    #[test]
    fn every_command_exists() {
        for (_, command) in COMMANDS.iter().filter(|(_, command)| !command.is_empty()) {
            let mut words = command.split(' ').skip(1);
            let mut found = Cli::command();
            while found.has_subcommands() {
                let word = words.next().unwrap_or_default();
                let next = found.find_subcommand(word).cloned();
                found = next.unwrap_or_else(|| panic!("{command}: there is no {word}"));
            }
            for option in words.filter_map(|word| word.strip_prefix("--")) {
                let has_option =
                    found.get_arguments().any(|argument| argument.get_long() == Some(option));
                assert!(has_option, "{command}: there is no --{option}");
            }
        }
    }
}
