//! The section `jobs`: how background jobs run on a node, and when hygiene runs.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use mc_domain::HygieneTask;
use mc_jobs::{JobSettings, KindSettings};
use serde::{Deserialize, Serialize};

/// Background jobs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Jobs {
    pub kinds: BTreeMap<String, JobKind>,
    pub hygiene_schedules: BTreeMap<String, String>,
}

/// How a kind of job runs on a node.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobKind {
    pub concurrency: usize,
    pub timeout_seconds: u64,
}

impl Jobs {
    /// Returns the settings for the worker pool; an error names the key.
    pub fn settings(&self) -> Result<JobSettings> {
        let mut settings = JobSettings::default();
        for (name, kind) in &self.kinds {
            let timeout = Duration::from_secs(kind.timeout_seconds);
            let kind = KindSettings { concurrency: kind.concurrency, timeout };
            settings.set_kind(name, kind).with_context(|| format!("jobs.kinds.{name}"))?;
        }
        for (name, cron) in &self.hygiene_schedules {
            let key = || format!("jobs.hygiene_schedules.{name}");
            let tasks = || HygieneTask::ALL.iter().map(|task| task.as_str()).collect::<Vec<_>>();
            let task = name.parse::<HygieneTask>().map_err(|_| {
                anyhow!("no hygiene task has this name; the tasks are {}", tasks().join(", "))
            });
            let task = task.with_context(key)?;
            settings.set_hygiene_schedule(task, cron).with_context(key)?;
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn error_of(change: impl Fn(&mut Jobs)) -> String {
        let mut jobs = Config::defaults().jobs;
        change(&mut jobs);
        format!("{:#}", jobs.settings().expect_err("invalid settings"))
    }

    #[test]
    fn default_job_settings_equal_those_of_the_kinds() {
        let jobs = Config::defaults().jobs;
        assert_eq!(jobs.settings().expect("valid"), JobSettings::default());
        assert_eq!(jobs.kinds.len(), 13);
        assert_eq!(jobs.hygiene_schedules.len(), HygieneTask::ALL.len());
    }

    #[test]
    fn changed_job_settings_reach_the_worker_pool() {
        let mut jobs = Config::defaults().jobs;
        let cleanup = JobKind { concurrency: 3, timeout_seconds: 90 };
        jobs.kinds.insert("cleanup".to_owned(), cleanup);
        jobs.hygiene_schedules.insert("expiry".to_owned(), "0 0 2 * * *".to_owned());
        let settings = jobs.settings().expect("valid");
        let changed = KindSettings { concurrency: 3, timeout: Duration::from_secs(90) };
        assert_eq!(settings.kind::<mc_jobs::Cleanup>(), changed);
        assert_eq!(settings.hygiene_schedules()[&HygieneTask::Expiry], "0 0 2 * * *");
    }

    #[test]
    fn invalid_job_settings_are_rejected_by_their_key() {
        let kind = |concurrency, timeout_seconds| JobKind { concurrency, timeout_seconds };
        let set = |name: &'static str, concurrency, timeout| {
            error_of(move |jobs| {
                jobs.kinds.insert(name.to_owned(), kind(concurrency, timeout));
            })
        };
        let error = set("clean", 1, 60);
        assert!(error.starts_with("jobs.kinds.clean: no job kind"), "{error}");
        let error = set("cleanup", 0, 60);
        assert!(error.starts_with("jobs.kinds.cleanup: concurrency is 0"), "{error}");
        let error = set("sync_integration", 2, 601);
        assert!(error.contains("sync_integration: timeout_seconds is 601"), "{error}");
        let error = error_of(|jobs| {
            jobs.hygiene_schedules.insert("expiry".to_owned(), "at night".to_owned());
        });
        assert!(error.starts_with("jobs.hygiene_schedules.expiry: \"at night\""), "{error}");
        let error = error_of(|jobs| {
            jobs.hygiene_schedules.insert("tidy".to_owned(), "0 0 2 * * *".to_owned());
        });
        assert!(error.starts_with("jobs.hygiene_schedules.tidy: no hygiene task"), "{error}");
    }
}
