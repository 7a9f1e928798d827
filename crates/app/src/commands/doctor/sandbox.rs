//! Check of the sandbox for commands.

use mc_sandbox::{Error, ProbeResult, ProbeStatus, Report, Sandbox};

use super::{CheckResult, bad, good};
use crate::config::Config;

/// Name of the check.
const SANDBOX: &str = "sandbox";

/// Runs commands in the sandbox that try to break out. Without a sandbox, the service works, but
/// refuses to run commands.
pub(super) async fn holds(config: &Config) -> CheckResult {
    let settings = config.sandbox.settings(vec![config.data_dir.clone()], Vec::new());
    let settings = settings.and_then(|settings| config.sandbox.limits().map(|_| settings));
    let settings = match settings {
        Ok(settings) => settings,
        Err(error) => {
            let fix = "set sandbox as config/memory-copilot.yaml documents";
            return bad(SANDBOX, format!("{error:#}"), fix);
        }
    };
    let sandbox = match Sandbox::detect(settings).await {
        Ok(sandbox) => sandbox,
        Err(Error::Disabled) => return good(SANDBOX, "disabled: commands are refused".to_owned()),
        Err(error) => {
            let fix =
                "do what the message says, or set sandbox.runner to none to run without commands";
            return bad(SANDBOX, error.to_string(), fix);
        }
    };
    let report = sandbox.probe(&[&config.token_file(), &config.data_dir]).await;
    summary(&sandbox.description(), &report)
}

fn summary(description: &str, report: &Report) -> CheckResult {
    let mut problems = Vec::new();
    let mut not_tested = Vec::new();
    for ProbeResult { name, status } in &report.results {
        match status {
            ProbeStatus::Held => {}
            ProbeStatus::Failed(problem) => problems.push(format!("{name}: {problem}")),
            ProbeStatus::NotTested(reason) => not_tested.push(format!("{name} ({reason})")),
        }
    }
    if !problems.is_empty() {
        let message = format!("{description}: the sandbox does not hold: {}", problems.join("; "));
        return bad(SANDBOX, message, "set sandbox.runner to none until this is repaired");
    }
    let attempts = report.results.len() - not_tested.len();
    let landlock = match report.landlock {
        Some(version) => format!("with Landlock version {version}"),
        None => "without Landlock".to_owned(),
    };
    let not_tested = match not_tested.as_slice() {
        [] => String::new(),
        some => format!("; not tested: {}", some.join(", ")),
    };
    good(SANDBOX, format!("{description}, held {attempts} attempts, {landlock}{not_tested}"))
}

#[cfg(test)]
mod tests {
    use mc_sandbox::RunnerKind;

    use super::*;

    fn report(status: ProbeStatus) -> Report {
        let results = [ProbeStatus::Held, status];
        let results = results.map(|status| ProbeResult { name: "the network", status });
        Report { runner: RunnerKind::Bubblewrap, results: results.into(), landlock: Some(6) }
    }

    #[test]
    fn sandbox_that_does_not_hold_fails() {
        let result = summary("bubblewrap", &report(ProbeStatus::Held));
        assert!(result.ok && result.message.ends_with("held 2 attempts, with Landlock version 6"));
        let result = summary("bubblewrap", &report(ProbeStatus::Failed("connected".to_owned())));
        let expected = "bubblewrap: the sandbox does not hold: the network: connected";
        assert!(!result.ok && result.message == expected, "{}", result.message);
    }

    #[test]
    fn probe_that_was_not_made_is_named() {
        let status = ProbeStatus::NotTested("bash is not in the sandbox".to_owned());
        let result = summary("bubblewrap", &report(status));
        assert!(result.ok && result.message.contains("held 1 attempts"), "{}", result.message);
        let expected = "not tested: the network (bash is not in the sandbox)";
        assert!(result.message.ends_with(expected), "{}", result.message);
    }
}
