//! What the help of commands shows them used for.

pub const WORKER: &str = "\
Examples:
  memory-copilot worker
  memory-copilot --config /etc/memory-copilot/worker.yaml worker

It needs database.url, a data_dir of its own and the sealing key of the service.";

pub const HOOKS: &str = "\
Examples:
  memory-copilot hooks add github --project shop
  memory-copilot hooks add gitlab --project shop --secret-file signing-token
  memory-copilot hooks deliveries --project shop --state failed
  memory-copilot hooks replay 0192f0c4-7d1e-7a53-9b02-6c1f0f3a9d11 --project shop";

pub const CONNECTIONS: &str = "\
Examples:
  memory-copilot connections systems --project shop
  memory-copilot connections add our-jira CS --project shop
  memory-copilot connections add github example/shop --ability heads --every-minutes 5 --project shop
  memory-copilot connections add git local/notes --project shop
  memory-copilot connections list --project shop";

pub const HYGIENE: &str = "\
Examples:
  memory-copilot hygiene run duplicates --dry-run --project shop
  memory-copilot hygiene list --project shop
  memory-copilot hygiene duplicates --project shop
  memory-copilot hygiene accept 0192f0c4-7d1e-7a53-9b02-6c1f0f3a9d11 --project shop
  memory-copilot hygiene noise --project shop
  memory-copilot hygiene keep 0192f0c4-7d1e-7a53-9b02-6c1f0f3a9d11 --seen 1
  memory-copilot hygiene exports --project shop";

pub const JOBS: &str = "\
Examples:
  memory-copilot jobs list --state dead
  memory-copilot jobs list --kind sync
  memory-copilot jobs show 01KADQ4Y6W3V9F5Z8T2R7M1N0P
  memory-copilot jobs retry 01KADQ4Y6W3V9F5Z8T2R7M1N0P";

pub const BACKUP: &str = "\
Examples:
  memory-copilot backup --output /backups/memory.tar

The sealing key is not in it: keep a copy of that elsewhere.";

pub const RESTORE: &str = "\
Examples:
  memory-copilot restore /backups/memory.tar
  memory-copilot restore --without-key /backups/memory.tar

It needs the configuration of the service, and the sealing key where that says.";

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
        assert_eq!(helps.len(), 7);
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
