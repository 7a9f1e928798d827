//! What the help of commands shows them used for.

pub const WORKER: &str = "\
Examples:
  memory-copilot worker
  memory-copilot --config /etc/memory-copilot/worker.yaml worker

It needs database.url, a data_dir of its own and the encryption key of the service.";

pub const WEBHOOKS: &str = "\
Examples:
  memory-copilot webhooks create github --project shop
  memory-copilot webhooks create gitlab --project shop --secret-file signing-token
  memory-copilot webhooks deliveries --project shop --state failed
  memory-copilot webhooks replay 0192f0c4-7d1e-7a53-9b02-6c1f0f3a9d11 --project shop";

pub const INTEGRATIONS: &str = "\
Examples:
  memory-copilot integrations create our-jira CS --project shop
  memory-copilot integrations create github example/shop --capability refs --interval-minutes 5 --project shop
  memory-copilot integrations create git local/notes --project shop
  memory-copilot integrations list --project shop

`memory-copilot connectors list` shows the connectors.";

pub const HYGIENE: &str = "\
Examples:
  memory-copilot hygiene run duplicates --dry-run --project shop
  memory-copilot hygiene list --project shop";

pub const DUPLICATES: &str = "\
Examples:
  memory-copilot duplicates list --project shop
  memory-copilot duplicates merge 0192f0c4-7d1e-7a53-9b02-6c1f0f3a9d11 --project shop";

pub const PROPOSALS: &str = "\
Examples:
  memory-copilot proposals list --demoted --project shop
  memory-copilot proposals accept 0192f0c4-7d1e-7a53-9b02-6c1f0f3a9d11 --record-version 1
  memory-copilot proposals reject 0192f0c4-7d1e-7a53-9b02-6c1f0f3a9d11";

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

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use crate::cli::Cli;

    #[test]
    fn each_example_is_a_command_that_there_is() {
        let cli = Cli::command();
        let helps = cli.get_subcommands().filter_map(|command| {
            let help = command.get_after_help()?.to_string();
            Some((command.get_name().to_owned(), help))
        });
        let helps: Vec<_> = helps.collect();
        assert_eq!(helps.len(), 9);
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
}
