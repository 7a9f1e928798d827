//! The operator's settings: concurrency and timeout of job kinds, and schedules of hygiene tasks.

use std::collections::BTreeMap;
use std::time::Duration;

use mc_domain::HygieneTask;

use crate::hygiene::SCHEDULES;
use crate::job::BackgroundJob;
use crate::{
    Cleanup, CommitPrompts, FetchPullRequestFiles, FetchWorkspace, IndexRepository, JudgeRecord,
    PostTaskComment, ProcessDelivery, RescueIndexRuns, RunHygieneTask, ScheduleHygiene,
    ScheduleSyncs, SyncIntegration,
};

/// Highest concurrency of a kind on a node.
const MAX_CONCURRENCY: usize = 64;
/// Longest timeout of an attempt, unless the kind has a lease in the database.
const MAX_TIMEOUT: Duration = Duration::from_hours(24);
/// Shortest timeout of a hygiene task: the last minute is for storing that it timed out.
const MIN_HYGIENE_TIMEOUT: Duration = Duration::from_mins(2);

/// Settings of a job kind on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindSettings {
    /// Maximum number of jobs that run at once.
    pub concurrency: usize,
    /// Timeout of an attempt.
    pub timeout: Duration,
}

impl KindSettings {
    /// Returns the settings that apply to a kind without configuration.
    pub fn defaults<J: BackgroundJob>() -> Self {
        Self { concurrency: J::CONCURRENCY, timeout: J::TIMEOUT }
    }
}

/// Settings of all job kinds. The default has the constants of each kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSettings {
    kinds: BTreeMap<&'static str, KindSettings>,
    hygiene: BTreeMap<HygieneTask, String>,
}

/// A setting that is out of range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// No job kind has this name.
    #[error("no job kind has this name; the kinds are {0}")]
    UnknownKind(String),
    /// The concurrency is out of range.
    #[error("concurrency is {0}; set it to 1 to {MAX_CONCURRENCY}")]
    Concurrency(usize),
    /// The timeout is out of range; seconds.
    #[error("timeout_seconds is {0}; set it to {1} to {2}")]
    Timeout(u64, u64, u64),
    /// The cron expression can't be parsed.
    #[error(
        "\"{0}\" is no cron expression of second, minute, hour, day, month and weekday, such as \
         \"0 40 0 * * *\": {1}"
    )]
    Cron(String, String),
}

impl Default for JobSettings {
    fn default() -> Self {
        let kinds = BTreeMap::from([
            (Cleanup::NAME, KindSettings::defaults::<Cleanup>()),
            (CommitPrompts::NAME, KindSettings::defaults::<CommitPrompts>()),
            (FetchPullRequestFiles::NAME, KindSettings::defaults::<FetchPullRequestFiles>()),
            (FetchWorkspace::NAME, KindSettings::defaults::<FetchWorkspace>()),
            (IndexRepository::NAME, KindSettings::defaults::<IndexRepository>()),
            (JudgeRecord::NAME, KindSettings::defaults::<JudgeRecord>()),
            (PostTaskComment::NAME, KindSettings::defaults::<PostTaskComment>()),
            (ProcessDelivery::NAME, KindSettings::defaults::<ProcessDelivery>()),
            (RescueIndexRuns::NAME, KindSettings::defaults::<RescueIndexRuns>()),
            (RunHygieneTask::NAME, KindSettings::defaults::<RunHygieneTask>()),
            (ScheduleHygiene::NAME, KindSettings::defaults::<ScheduleHygiene>()),
            (ScheduleSyncs::NAME, KindSettings::defaults::<ScheduleSyncs>()),
            (SyncIntegration::NAME, KindSettings::defaults::<SyncIntegration>()),
        ]);
        let hygiene = SCHEDULES.map(|(task, cron)| (task, cron.to_owned())).into();
        Self { kinds, hygiene }
    }
}

impl JobSettings {
    /// Sets the concurrency and the timeout of a kind.
    pub fn set_kind(&mut self, name: &str, settings: KindSettings) -> Result<(), SettingsError> {
        let names = || self.kinds.keys().copied().collect::<Vec<_>>().join(", ");
        let unknown = || SettingsError::UnknownKind(names());
        let (&name, _) = self.kinds.get_key_value(name).ok_or_else(unknown)?;
        let KindSettings { concurrency, timeout } = settings;
        if !(1..=MAX_CONCURRENCY).contains(&concurrency) {
            return Err(SettingsError::Concurrency(concurrency));
        }
        let (shortest, longest) = timeout_range(name);
        if !(shortest..=longest).contains(&timeout) {
            let [timeout, shortest, longest] =
                [timeout, shortest, longest].map(|time| time.as_secs());
            return Err(SettingsError::Timeout(timeout, shortest, longest));
        }
        self.kinds.insert(name, settings);
        Ok(())
    }

    /// Sets the schedule of a hygiene task in every project, a cron expression in UTC.
    pub fn set_hygiene_schedule(
        &mut self,
        task: HygieneTask,
        cron: &str,
    ) -> Result<(), SettingsError> {
        if let Err(error) = cron.parse::<cron::Schedule>() {
            return Err(SettingsError::Cron(cron.to_owned(), error.to_string()));
        }
        self.hygiene.insert(task, cron.to_owned());
        Ok(())
    }

    /// Returns the settings of a kind: its defaults, unless the operator has set others.
    pub fn kind<J: BackgroundJob>(&self) -> KindSettings {
        self.kinds.get(J::NAME).copied().unwrap_or_else(KindSettings::defaults::<J>)
    }

    /// Returns the cron expression of each hygiene task.
    pub fn hygiene_schedules(&self) -> &BTreeMap<HygieneTask, String> {
        &self.hygiene
    }
}

/// Returns the shortest and the longest timeout of a kind. A sync and a task comment hold a lease
/// in the database for as long as their default timeout, so a longer one would let two attempts run
/// at once.
fn timeout_range(name: &str) -> (Duration, Duration) {
    match name {
        SyncIntegration::NAME => (Duration::from_secs(1), SyncIntegration::TIMEOUT),
        PostTaskComment::NAME => (Duration::from_secs(1), PostTaskComment::TIMEOUT),
        RunHygieneTask::NAME => (MIN_HYGIENE_TIMEOUT, MAX_TIMEOUT),
        _ => (Duration::from_secs(1), MAX_TIMEOUT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_reject_values_out_of_range() {
        let mut settings = JobSettings::default();
        let kind = |concurrency, seconds| KindSettings {
            concurrency,
            timeout: Duration::from_secs(seconds),
        };
        let unknown = settings.set_kind("clean", kind(1, 60)).expect_err("no kind");
        assert!(unknown.to_string().contains("cleanup, commit_prompts"), "{unknown}");
        assert_eq!(settings.set_kind("cleanup", kind(0, 60)), Err(SettingsError::Concurrency(0)));
        assert_eq!(
            settings.set_kind("sync_integration", kind(2, 601)),
            Err(SettingsError::Timeout(601, 1, 600))
        );
        let cron = settings.set_hygiene_schedule(HygieneTask::Expiry, "at night");
        assert!(matches!(cron, Err(SettingsError::Cron(..))), "{cron:?}");
        assert_eq!(settings, JobSettings::default());
    }

    #[test]
    fn changed_setting_replaces_the_default() {
        let mut settings = JobSettings::default();
        let changed = KindSettings { concurrency: 3, timeout: Duration::from_secs(90) };
        settings.set_kind("cleanup", changed).expect("valid");
        assert_eq!(settings.kind::<Cleanup>(), changed);
        settings.set_hygiene_schedule(HygieneTask::Expiry, "0 0 2 * * *").expect("valid");
        let schedules = settings.hygiene_schedules();
        assert_eq!(schedules.len(), SCHEDULES.len());
        assert_eq!(schedules[&HygieneTask::Expiry], "0 0 2 * * *");
    }
}
