//! Answers that a system may say are still right, so that they need not be sent again.

use std::fmt;
use std::time::Duration;

use moka::future::Cache;
use reqwest::header::{ETAG, HeaderMap, IF_NONE_MATCH};
use url::Url;

use super::Answer;

/// Bytes of all answers that are kept, and of one.
const MOST_BYTES: u64 = 8 * 1024 * 1024;
const MOST_BYTES_OF_ONE: usize = 1024 * 1024;
const KEPT_FOR: Duration = Duration::from_hours(6);

/// The last answers that came with an `ETag`.
pub(super) struct EtagCache(Cache<Url, Answer>);

impl EtagCache {
    pub(super) fn new() -> Self {
        let weight =
            |_: &Url, answer: &Answer| u32::try_from(answer.body.len()).unwrap_or(u32::MAX);
        let cache = Cache::builder().weigher(weight).max_capacity(MOST_BYTES);
        Self(cache.time_to_idle(KEPT_FOR).build())
    }

    /// The headers that let the system say that nothing has changed.
    pub(super) async fn condition(&self, url: &Url) -> HeaderMap {
        let tag = self.0.get(url).await.and_then(|answer| answer.headers.get(ETAG).cloned());
        tag.into_iter().map(|tag| (IF_NONE_MATCH, tag)).collect()
    }

    pub(super) async fn answer(&self, url: &Url) -> Option<Answer> {
        self.0.get(url).await
    }

    pub(super) async fn keep(&self, url: &Url, answer: &Answer) {
        let is_tagged = answer.headers.contains_key(ETAG);
        if is_tagged && answer.body.len() <= MOST_BYTES_OF_ONE {
            self.0.insert(url.clone(), answer.clone()).await;
        }
    }
}

impl fmt::Debug for EtagCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Remembered({})", self.0.entry_count())
    }
}
