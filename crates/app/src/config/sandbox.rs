//! The section `sandbox`: how commands of unknown trust are run.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use mc_sandbox::{DockerSettings, InitProgram, Limits, RunnerChoice, Settings};
use serde::{Deserialize, Serialize};

/// How commands of unknown trust are run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sandbox {
    pub runner: SandboxRunner,
    pub image: String,
    pub docker_socket: PathBuf,
    pub read_only_paths: Vec<PathBuf>,
    pub limits: SandboxLimits,
}

/// What runs commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxRunner {
    Auto,
    Bubblewrap,
    Docker,
    None,
}

/// Limits of a command. Its time and its output are limits of the request.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxLimits {
    pub grace_time_seconds: u64,
    pub processor_time_seconds: u64,
    pub memory_bytes: u64,
    pub processes: u64,
    pub file_bytes: u64,
    pub disk_bytes: u64,
    pub temporary_bytes: u64,
    pub open_files: u64,
}

impl Sandbox {
    /// Returns the settings for the sandbox. `protected_paths` are directories of the service, and
    /// `allowed_roots` those in them below which commands may have directories.
    pub fn settings(
        &self,
        protected_paths: Vec<PathBuf>,
        allowed_roots: Vec<PathBuf>,
    ) -> Result<Settings> {
        let init = InitProgram::current().context(
            "the path of the running program is unknown; mount /proc, or start it again",
        )?;
        Ok(Settings {
            runner: match self.runner {
                SandboxRunner::Auto => RunnerChoice::Auto,
                SandboxRunner::Bubblewrap => RunnerChoice::Bubblewrap,
                SandboxRunner::Docker => RunnerChoice::Docker,
                SandboxRunner::None => RunnerChoice::None,
            },
            read_only_paths: self.read_only_paths.clone(),
            protected_paths,
            allowed_roots,
            docker: DockerSettings {
                socket: self.docker_socket.clone(),
                image: self.image.clone(),
            },
            ..Settings::new(init)
        })
    }

    /// Returns the default limits, or the first one that is out of its range.
    pub fn limits(&self) -> Result<Limits> {
        let configured = &self.limits;
        let limits = Limits {
            grace_time: Duration::from_secs(configured.grace_time_seconds),
            processor_time: Duration::from_secs(configured.processor_time_seconds),
            memory_bytes: configured.memory_bytes,
            processes: configured.processes,
            file_bytes: configured.file_bytes,
            disk_bytes: configured.disk_bytes,
            temporary_bytes: configured.temporary_bytes,
            open_files: configured.open_files,
            ..Limits::default()
        };
        limits.check().context("sandbox.limits")?;
        Ok(limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn default_limits_equal_those_of_the_sandbox() {
        let sandbox = Config::defaults().sandbox;
        assert_eq!(sandbox.limits().expect("valid"), Limits::default());
        let settings = sandbox.settings(Vec::new(), Vec::new()).expect("settings");
        assert_eq!(settings.runner, RunnerChoice::Auto);
        assert_eq!(settings.docker.socket, DockerSettings::default().socket);
        assert!(settings.read_only_paths.is_empty() && settings.docker.image.is_empty());
    }

    #[test]
    fn changed_settings_reach_the_sandbox() {
        let mut sandbox = Config::defaults().sandbox;
        sandbox.runner = SandboxRunner::Docker;
        sandbox.image = "tools@sha256:0".to_owned();
        sandbox.read_only_paths.push("/opt/node".into());
        let settings = sandbox.settings(vec!["/data".into()], vec!["/data/workspaces".into()]);
        let settings = settings.expect("settings");
        assert_eq!(settings.runner, RunnerChoice::Docker);
        assert_eq!(settings.docker.image, "tools@sha256:0");
        assert_eq!(settings.read_only_paths, [PathBuf::from("/opt/node")]);
        assert_eq!(settings.protected_paths, [PathBuf::from("/data")]);
        assert_eq!(settings.allowed_roots, [PathBuf::from("/data/workspaces")]);
    }

    #[test]
    fn limit_out_of_its_range_is_rejected_by_its_name() {
        let mut sandbox = Config::defaults().sandbox;
        sandbox.limits.processes = 1;
        let error = format!("{:#}", sandbox.limits().expect_err("an invalid limit"));
        assert!(error.starts_with("sandbox.limits: the limit processes is 1"), "{error}");
    }
}
