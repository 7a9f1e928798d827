//! Check of the sandbox for commands.

use mc_sandbox::{Error, Finding, Report, Sandbox};

use super::{CheckResult, bad, good};
use crate::config::Config;

/// Name of the check.
const SANDBOX: &str = "sandbox";

/// Runs commands in the sandbox that try to break out. Without a sandbox, the service works, but
/// refuses to run commands.
pub(super) async fn holds(config: &Config) -> CheckResult {
    let settings = config.sandbox.settings(vec![config.data_dir.clone()]);
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
            let fix = "follow the line above, or set sandbox.runner to none to do without commands";
            return bad(SANDBOX, error.to_string(), fix);
        }
    };
    let report = sandbox.probe(&[&config.token_file(), &config.data_dir]).await;
    summary(&sandbox.description(), &report)
}

fn summary(description: &str, report: &Report) -> CheckResult {
    let problem = |finding: &Finding| {
        finding.problem.as_ref().map(|problem| format!("{}: {problem}", finding.name))
    };
    let problems: Vec<String> = report.findings.iter().filter_map(problem).collect();
    if !problems.is_empty() {
        let message = format!("{description}, does not hold: {}", problems.join("; "));
        return bad(SANDBOX, message, "set sandbox.runner to none until this is repaired");
    }
    let attempts = report.findings.len();
    let landlock = match report.landlock {
        Some(version) => format!("with Landlock version {version}"),
        None => "without Landlock".to_owned(),
    };
    good(SANDBOX, format!("{description}, held {attempts} attempts, {landlock}"))
}

#[cfg(test)]
mod tests {
    use mc_sandbox::RunnerKind;

    use super::*;

    fn report(problem: Option<&str>) -> Report {
        let finding = |problem: Option<&str>| Finding {
            name: "the network",
            problem: problem.map(ToOwned::to_owned),
        };
        let findings = vec![finding(None), finding(problem)];
        Report { runner: RunnerKind::Bubblewrap, findings, landlock: Some(6) }
    }

    #[test]
    fn sandbox_that_does_not_hold_fails() {
        let result = summary("bubblewrap", &report(None));
        assert!(result.ok && result.message.contains("held 2 attempts, with Landlock version 6"));
        let result = summary("bubblewrap", &report(Some("connected")));
        assert!(!result.ok && result.message.contains("the network: connected"));
    }
}
