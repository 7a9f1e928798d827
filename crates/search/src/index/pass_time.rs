//! Expected end of a pass over the change feed: a search does not wait for one that ends too late.

use std::time::Duration;

use tokio::time::Instant;

/// Number of added passages from which a pass shows how long each of them takes. In a shorter pass,
/// reading the feed and committing take most of the time.
const MIN_ADDED: u32 = 100;

/// Estimate of the duration of a pass, from the last two long ones.
#[derive(Debug, Default)]
pub(super) struct PassTime {
    /// Time for each added passage in the last long passes. Deletions take little time.
    per_passage: [Duration; 2],
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
    ///
    /// Passages differ in size, so the faster one of the last passes counts: a search rather waits
    /// too long than misses the last changes.
    pub(super) fn expected_end(&self, pass: &RunningPass) -> Option<Instant> {
        let per_passage = self.per_passage[0].min(self.per_passage[1]);
        let is_long = pass.added >= MIN_ADDED;
        is_long.then(|| pass.started_at.checked_add(per_passage.saturating_mul(pass.added)))?
    }

    /// Learns from a pass that has succeeded.
    pub(super) fn learn(&mut self, pass: &RunningPass) {
        if pass.added >= MIN_ADDED {
            self.per_passage = [self.per_passage[1], pass.started_at.elapsed() / pass.added];
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

    /// Returns an estimate after two long passes that took these milliseconds for each passage.
    async fn after_passes(per_passage: [u64; 2]) -> PassTime {
        let mut times = PassTime::default();
        for milliseconds in per_passage {
            let pass = pass_of(1_000);
            tokio::time::advance(Duration::from_secs(milliseconds)).await;
            times.learn(&pass);
        }
        times
    }

    #[tokio::test(start_paused = true)]
    async fn each_passage_is_expected_to_take_as_long_as_in_the_faster_one_of_the_last_passes() {
        for per_passage in [[2, 3], [3, 2], [2, 2]] {
            let times = after_passes(per_passage).await;
            let pass = pass_of(500);
            assert_eq!(times.expected_end(&pass), Some(pass.started_at + Duration::from_secs(1)));
        }
        let pass = pass_of(500);
        assert_eq!(PassTime::default().expected_end(&pass), Some(pass.started_at), "none was long");
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_expected_or_learnt_of_a_short_pass() {
        let mut times = after_passes([2, 2]).await;
        let pass = pass_of(5);
        assert_eq!(times.expected_end(&pass), None);
        tokio::time::advance(Duration::from_mins(1)).await;
        times.learn(&pass);
        assert_eq!(times.per_passage, [Duration::from_millis(2); 2]);
    }
}
