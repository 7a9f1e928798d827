//! A cache of responses that a provider can confirm as unchanged.

use std::fmt;
use std::time::Duration;

use moka::future::Cache;
use reqwest::header::{ETAG, HeaderMap, IF_NONE_MATCH};
use url::Url;

use super::Response;

/// Bytes of all cached responses, and of one.
const MAX_BYTES: u64 = 8 * 1024 * 1024;
const MAX_RESPONSE_BYTES: usize = 1024 * 1024;
const TIME_TO_IDLE: Duration = Duration::from_hours(6);

/// The last responses that had an `ETag`.
pub(super) struct EtagCache(Cache<Url, Response>);

impl EtagCache {
    pub(super) fn new() -> Self {
        let weight =
            |_: &Url, response: &Response| u32::try_from(response.body.len()).unwrap_or(u32::MAX);
        let cache = Cache::builder().weigher(weight).max_capacity(MAX_BYTES);
        Self(cache.time_to_idle(TIME_TO_IDLE).build())
    }

    /// Returns the headers that make a request conditional.
    pub(super) async fn condition(&self, url: &Url) -> HeaderMap {
        let tag = self.0.get(url).await.and_then(|cached| cached.headers.get(ETAG).cloned());
        tag.into_iter().map(|tag| (IF_NONE_MATCH, tag)).collect()
    }

    pub(super) async fn get(&self, url: &Url) -> Option<Response> {
        self.0.get(url).await
    }

    pub(super) async fn insert(&self, url: &Url, response: &Response) {
        let has_tag = response.headers.contains_key(ETAG);
        if has_tag && response.body.len() <= MAX_RESPONSE_BYTES {
            self.0.insert(url.clone(), response.clone()).await;
        }
    }
}

impl fmt::Debug for EtagCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtagCache").finish_non_exhaustive()
    }
}
