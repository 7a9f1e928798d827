//! Examples in the help of commands.

pub const FIRST_STEPS: &str = "\
First steps:
  memory-copilot serve                          start the service
  memory-copilot ingest . --project shop        index the repository of this directory
  memory-copilot recall 'nil delay' -p shop     show what an assistant would be told
  memory-copilot doctor                         check the installation";

pub const WORKER: &str = "\
Examples:
  memory-copilot worker
  memory-copilot --config /etc/memory-copilot/worker.yaml worker

A worker needs database.url, its own data_dir and the encryption key of the service.";

pub const TOOL: &str = "\
Examples:
  memory-copilot tool recall --query nil-delay --project shop
  memory-copilot tool open_doc --id m1 --project shop
  memory-copilot --json tool search_code --query Cart#total --limit 3 --project shop";

pub const IMPORT: &str = "\
Examples:
  memory-copilot import . --project shop --dry-run
  memory-copilot import CLAUDE.md --project shop
  memory-copilot import docs/decisions --from adr --project shop
  memory-copilot import mem0.json --project shop
  memory-copilot import records.yaml --project shop --create-project

Notes of other programs become proposals: `memory-copilot proposals list` shows them for review.";

pub const WEBHOOKS: &str = "\
Examples:
  memory-copilot webhooks create github --project shop
  memory-copilot webhooks create gitlab --project shop --secret-file signing-token
  memory-copilot webhooks deliveries --project shop --state failed
  memory-copilot webhooks replay 0192f0c4-7d1e-7a53-9b02-6c1f0f3a9d11 --project shop";

pub const INTEGRATIONS: &str = "\
Examples:
  memory-copilot integrations create our-jira CS --project shop
  memory-copilot integrations create github example/shop --capability refs --interval-minutes 5 \
  --project shop
  memory-copilot integrations create git local/notes --project shop
  memory-copilot integrations list --project shop

`memory-copilot connectors list` shows the connectors.";

pub const HYGIENE: &str = "\
Examples:
  memory-copilot hygiene run duplicates --dry-run --project shop
  memory-copilot hygiene list --project shop";

pub const EVAL_HELP: &str = "\
Examples:
  memory-copilot eval help questions.yaml --project shop
  memory-copilot eval help tests/help/questions.yaml --project lumen --limit 3

A chat model with the role writer answers each question without and with the bundle of its recall. \
One with the role judge finds the expected facts in the answers; without it, phrases do.";

pub const REPORT: &str = "\
Examples:
  memory-copilot report --project shop
  memory-copilot report --project shop --team platform --weeks 8";

pub const DUPLICATES: &str = "\
Examples:
  memory-copilot duplicates list --project shop
  memory-copilot duplicates merge 0192f0c4-7d1e-7a53-9b02-6c1f0f3a9d11 --project shop";

pub const PROPOSALS: &str = "\
Examples:
  memory-copilot proposals list --project shop
  memory-copilot proposals show 0192f0c4-7d1e-7a53-9b02-6c1f0f3a9d11 --project shop
  memory-copilot proposals accept 0192f0c4-7d1e-7a53-9b02-6c1f0f3a9d11 --record-version 1
  memory-copilot proposals reject 0192f0c4-7d1e-7a53-9b02-6c1f0f3a9d11";

pub const REPOS: &str = "\
Examples:
  memory-copilot repos list --project shop
  memory-copilot repos patterns acme/shop --exclude docs/archive/ --exclude *.snap --project shop
  memory-copilot repos rename acme/shop acme/store --project shop
  memory-copilot repos watch . --project shop";

pub const WORKSPACES: &str = "\
Examples:
  memory-copilot workspaces list --project shop
  memory-copilot workspaces delete 0192f0c4-7d1e-7a53-9b02-6c1f0f3a9d11 --yes";

pub const PATCH: &str = "\
Examples:
  memory-copilot patch check --workspace . change.diff
  memory-copilot patch check --workspace . --apply change.diff
  memory-copilot --json patch check --workspace ../shop -";

pub const RECORDS: &str = "\
Examples:
  memory-copilot records list --kind gotcha --project shop
  memory-copilot records show 0192f0c4-7d1e-7a53-9b02-6c1f0f3a9d11
  memory-copilot records edit 0192f0c4-7d1e-7a53-9b02-6c1f0f3a9d11 --tag bugfix --tag unit
  memory-copilot records restore 0192f0c4-7d1e-7a53-9b02-6c1f0f3a9d11 --record-version 1";

pub const USERS: &str = "\
Examples:
  memory-copilot users invite ann --name Ann
  memory-copilot users offboard ann --successor vera
  memory-copilot users create ci-bot --agent
  memory-copilot users update ann --disabled true";

pub const TEAMS: &str = "\
Examples:
  memory-copilot teams create platform
  memory-copilot teams set-member platform ann maintainer
  memory-copilot teams members platform

`memory-copilot members set TEAM ROLE --team` shares a project with a team.";

pub const PROJECTS: &str = "\
Examples:
  memory-copilot projects create shop
  memory-copilot projects show --project shop
  memory-copilot projects delete --project shop";

pub const MEMBERS: &str = "\
Examples:
  memory-copilot members list --project shop
  memory-copilot members set ann maintainer --project shop
  memory-copilot members set platform member --team --project shop";

pub const POLICY: &str = "\
Examples:
  memory-copilot policy show --project shop
  memory-copilot policy set tokens.recall=8000 ttl_days.fact=365 --project shop
  memory-copilot policy reset tokens --project shop
  memory-copilot policy apply policy.yaml --project shop";

pub const SGR: &str = "\
Examples:
  memory-copilot sgr list --project shop
  memory-copilot sgr show bugfix
  memory-copilot sgr show bugfix --answer-schema
  memory-copilot sgr set hotfix.yaml --project shop";

pub const AELP: &str = "\
Examples:
  memory-copilot aelp status --project shop
  memory-copilot aelp diff --project shop
  memory-copilot aelp run --dry-run --project shop
  memory-copilot aelp set prompt.yaml --project shop
  memory-copilot aelp promote --project shop

docs/prompts.md explains the method, and when a version is promoted or rolled back.";

pub const QUARANTINE: &str = "\
Examples:
  memory-copilot quarantine list --project shop
  memory-copilot quarantine show 0192f0c4-7d1e-7a53-9b02-6c1f0f3a9d11
  memory-copilot quarantine release 0192f0c4-7d1e-7a53-9b02-6c1f0f3a9d11";

pub const JOBS: &str = "\
Examples:
  memory-copilot jobs list --state discarded
  memory-copilot jobs list --kind sync_integration
  memory-copilot jobs show 01KADQ4Y6W3V9F5Z8T2R7M1N0P
  memory-copilot jobs retry 01KADQ4Y6W3V9F5Z8T2R7M1N0P";

pub const BACKUP: &str = "\
Examples:
  memory-copilot backup --output /backups/memory.tar

The encryption key is not in it: keep a copy elsewhere.";

pub const RESTORE: &str = "\
Examples:
  memory-copilot restore /backups/memory.tar
  memory-copilot restore --without-encryption-key /backups/memory.tar

It needs the configuration of the service, and its encryption key.";

pub const CLIENT: &str = "\
Examples:
  memory-copilot client install claude-code --project shop
  memory-copilot client install vscode --dir ~/src/shop --project shop --dry-run

The files name no path of this machine, so a team can commit them.";

#[cfg(test)]
mod tests {
    use std::fs;
    use std::iter::once;
    use std::path::{Path, PathBuf};

    use clap::{Command, CommandFactory, Parser};

    use crate::cli::Cli;

    #[test]
    fn each_example_is_an_existing_command() {
        let cli = Cli::command();
        let commands = cli.get_subcommands();
        let commands = commands.flat_map(|command| once(command).chain(command.get_subcommands()));
        let helps = commands.filter_map(|command| {
            let help = command.get_after_help()?.to_string();
            Some((command.get_name().to_owned(), help))
        });
        let helps: Vec<_> = helps.collect();
        assert_eq!(helps.len(), 26);
        for (name, help) in helps {
            let examples = help.lines().filter(|line| line.starts_with("  memory-copilot "));
            let mut count = 0;
            for example in examples {
                let parsed = Cli::try_parse_from(example.split_whitespace());
                assert!(parsed.is_ok() && example.contains(&name), "{example}: {parsed:?}");
                count += 1;
            }
            assert!(count > 0, "{name}");
        }
    }

    #[test]
    fn each_command_named_in_a_message_or_a_guide_exists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut files = Vec::new();
        for part in ["crates", "docs", "config", "scripts", "README.md", "SECURITY.md"] {
            collect(&root.join(part), &mut files);
        }
        let cli = Cli::command();
        let (mut count, mut unknown) = (0, Vec::new());
        for file in files {
            let Ok(text) = fs::read_to_string(&file) else { continue };
            // Only commands to type: in code, in parentheses, or at the start of a line of a
            // guide.
            for (at, _) in text.match_indices("memory-copilot ") {
                let is_typed = matches!(text[..at].chars().last(), Some('`' | '(' | '\n') | None);
                let line = text[at..].split(['`', ')', '\n']).next().unwrap_or_default();
                if is_typed {
                    count += 1;
                    unknown.extend(missing(&cli, line).map(|word| format!("{word}: {line}")));
                }
            }
        }
        assert!(count > 50, "{count}");
        assert!(unknown.is_empty(), "{unknown:#?}");
    }

    /// The first word of a line that is neither a command nor, where one has to follow, its
    /// subcommand.
    fn missing(cli: &Command, line: &str) -> Option<String> {
        let mut command = cli;
        for word in line.split(' ').skip(1) {
            let word = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            if !command.has_subcommands() || !word.starts_with(|c: char| c.is_ascii_lowercase()) {
                return None;
            }
            let Some(found) = command.find_subcommand(word) else { return Some(word.to_owned()) };
            command = found;
        }
        None
    }

    fn collect(path: &Path, files: &mut Vec<PathBuf>) {
        if let Ok(entries) = fs::read_dir(path) {
            entries.flatten().for_each(|entry| collect(&entry.path(), files));
        } else {
            files.push(path.to_owned());
        }
    }
}
