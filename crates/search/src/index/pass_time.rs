//! Expected end of passes over the change feed: a search does not wait for one that ends too late.

use std::time::Duration;

use tokio::time::Instant;

/// Number of added passages from which a pass shows how long each of them takes. In a shorter pass,
/// reading the feed and committing take most of the time.
const MIN_ADDED: u32 = 100;

/// Durations of the last passes, from which that of the next ones is estimated.
#[derive(Debug, Default)]
pub(super) struct PassTime {
    /// Time for each added passage in the last two long passes. Deletions take little time.
    per_passage: [Duration; 2],
    /// Durations of the last two passes; zero if they were short.
    last: [Duration; 2],
}

/// A pass that is running.
#[derive(Debug)]
pub(super) struct RunningPass {
    started_at: Instant,
    added: u32,
}

/// Expected duration of the running pass and of the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExpectedPass {
    pub(super) started_at: Instant,
    /// Zero if the pass is short.
    pub(super) duration: Duration,
    pub(super) next: Duration,
}

impl RunningPass {
    pub(super) fn start() -> Self {
        Self { started_at: Instant::now(), added: 0 }
    }

    /// Counts passages that are added to the index.
    pub(super) fn add(&mut self, passages: usize) {
        self.added = self.added.saturating_add(u32::try_from(passages).unwrap_or(u32::MAX));
    }

    fn is_long(&self) -> bool {
        self.added >= MIN_ADDED
    }
}

impl ExpectedPass {
    /// Returns when a request will be answered. `running` is the pass that was running when it
    /// came: only the next pass is sure to read the changes before the request.
    pub(super) fn answers_at(&self, running: Option<Self>) -> Instant {
        // It may take longer than expected: a later request does not wait for it in vain.
        let end = (self.started_at + self.duration).max(Instant::now());
        let is_next = running.is_some_and(|running| running.started_at == self.started_at);
        if is_next { end + self.next } else { end }
    }
}

impl PassTime {
    /// Returns how long the pass will take if it adds no further passages, and the next one.
    ///
    /// Passages differ in size, and the next pass in its number of them. The shorter one of two
    /// durations counts, because a search rather waits too long than misses the last changes. For
    /// the next pass, the shortest one of three passes counts, this one included: a few large
    /// documents make no lasting load.
    pub(super) fn estimate(&self, pass: &RunningPass) -> ExpectedPass {
        let per_passage = self.per_passage[0].min(self.per_passage[1]);
        let long = pass.is_long().then(|| per_passage * pass.added);
        let duration = long.unwrap_or_default();
        let next = duration.min(self.last[0]).min(self.last[1]);
        ExpectedPass { started_at: pass.started_at, duration, next }
    }

    /// Learns from a pass that has succeeded.
    pub(super) fn learn(&mut self, pass: &RunningPass) {
        let long = pass.is_long().then(|| pass.started_at.elapsed());
        self.last = [self.last[1], long.unwrap_or_default()];
        if let Some(duration) = long {
            self.per_passage = [self.per_passage[1], duration / pass.added];
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

    /// Returns durations after two passes of 1,000 passages that took these milliseconds for each.
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
            let expected = times.estimate(&pass_of(500));
            assert_eq!(expected.duration, Duration::from_secs(1));
        }
        let expected = PassTime::default().estimate(&pass_of(500));
        assert_eq!(expected.duration, Duration::ZERO, "none was long");
    }

    #[tokio::test(start_paused = true)]
    async fn next_pass_is_expected_to_be_as_long_as_the_shortest_one_of_the_last_three() {
        let times = after_passes([2, 2]).await;
        for (passages, next) in [(50, 0), (500, 1), (1_000, 2), (4_000, 2)] {
            let expected = times.estimate(&pass_of(passages));
            assert_eq!(expected.next, Duration::from_secs(next), "{passages}");
        }
        let mut times = PassTime::default();
        let pass = pass_of(1_000);
        tokio::time::advance(Duration::from_secs(2)).await;
        times.learn(&pass);
        let next = times.estimate(&pass_of(1_000)).next;
        assert_eq!(next, Duration::ZERO, "only one was long");
    }

    #[tokio::test(start_paused = true)]
    async fn request_during_a_pass_is_answered_by_the_next_one() {
        let times = after_passes([2, 2]).await;
        let first = times.estimate(&pass_of(500));
        let at = |seconds| first.started_at + Duration::from_secs(seconds);
        assert_eq!(first.answers_at(None), at(1));
        assert_eq!(first.answers_at(Some(first)), at(2));

        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!(first.answers_at(Some(first)), at(4), "it takes longer than expected");
        let second = times.estimate(&pass_of(500));
        assert_eq!(second.answers_at(Some(first)), at(4));
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_expected_after_a_short_pass_and_no_time_for_a_passage_is_learnt() {
        let mut times = after_passes([2, 2]).await;
        let pass = pass_of(5);
        assert_eq!(times.estimate(&pass).duration, Duration::ZERO);
        tokio::time::advance(Duration::from_mins(1)).await;
        times.learn(&pass);
        assert_eq!(times.per_passage, [Duration::from_millis(2); 2]);
        assert_eq!(times.estimate(&pass_of(500)).next, Duration::ZERO);
    }
}
