//! Expected end of a pass over the change feed, so that no search waits in vain for a long one.

use std::time::Duration;

use tokio::time::Instant;

/// Number of added passages from which a pass shows how long each of them takes. In a shorter pass,
/// reading the feed and committing take most of the time.
const MIN_ADDED: u32 = 100;

/// Expects a pass to take as long for each added passage as the last long pass. Deletions take
/// little time.
#[derive(Debug, Default)]
pub(super) struct PassTime {
    per_passage: Duration,
}

/// A pass that is running.
#[derive(Debug)]
pub(super) struct RunningPass {
    started_at: Instant,
    added: u32,
}

impl RunningPass {
    pub(super) fn start() -> Self {
        Self { started_at: Instant::now(), added: 0 }
    }

    /// Counts passages that are added to the index.
    pub(super) fn add(&mut self, passages: usize) {
        self.added = self.added.saturating_add(u32::try_from(passages).unwrap_or(u32::MAX));
    }
}

impl PassTime {
    /// Returns when the pass will end if it adds no further passages; `None` if it is short.
    pub(super) fn expected_end(&self, pass: &RunningPass) -> Option<Instant> {
        let is_long = pass.added >= MIN_ADDED;
        is_long.then(|| pass.started_at + self.per_passage.saturating_mul(pass.added))
    }

    /// Learns from a pass that has ended.
    pub(super) fn learn(&mut self, pass: &RunningPass) {
        if pass.added >= MIN_ADDED {
            self.per_passage = pass.started_at.elapsed() / pass.added;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass_of(passages: usize) -> RunningPass {
        let mut pass = RunningPass::start();
        pass.add(passages);
        pass
    }

    #[tokio::test(start_paused = true)]
    async fn long_pass_is_expected_to_take_as_long_for_each_passage_as_the_last_one() {
        let mut times = PassTime::default();
        let pass = pass_of(1_000);
        assert_eq!(times.expected_end(&pass), Some(pass.started_at), "nothing is known yet");
        tokio::time::advance(Duration::from_secs(2)).await;
        times.learn(&pass);

        let pass = pass_of(500);
        assert_eq!(times.expected_end(&pass), Some(pass.started_at + Duration::from_secs(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_expected_or_learnt_of_a_short_pass() {
        let mut times = PassTime::default();
        let pass = pass_of(1_000);
        tokio::time::advance(Duration::from_secs(2)).await;
        times.learn(&pass);

        let pass = pass_of(5);
        assert_eq!(times.expected_end(&pass), None);
        tokio::time::advance(Duration::from_mins(1)).await;
        times.learn(&pass);
        assert_eq!(times.per_passage, Duration::from_millis(2));
    }
}
