//! The trait of providers.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;

use crate::{ChatRequest, Error, Usage};

/// A server, or a client of the service, that completes chats. It sends each request once:
/// [`ChatModel`](crate::ChatModel) limits, repeats and checks.
pub trait ChatProvider: fmt::Debug + Send + Sync {
    /// Requests one completion. Dropping the future cancels the request.
    fn request<'a>(
        &'a self,
        request: &'a ChatRequest,
        progress: &'a Progress,
    ) -> BoxFuture<'a, Result<Answer, Error>>;
}

/// An answer as the provider returned it.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    /// Its text, which may contain secrets.
    pub text: String,
    /// Why it ended.
    pub end: AnswerEnd,
    /// The tokens that the provider counted, if it does.
    pub usage: Option<Usage>,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, end, usage } = self;
        f.debug_struct("Answer")
            .field("bytes", &text.len())
            .field("end", end)
            .field("usage", usage)
            .finish()
    }
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerEnd {
    /// The model said all.
    Complete,
    /// The limit of tokens was reached.
    TokenLimit,
    /// The model, or a filter of its provider, declined to answer.
    Declined,
}

/// The progress of a request.
#[derive(Debug)]
pub struct Progress {
    received: AtomicUsize,
    max_bytes: usize,
}

impl Progress {
    /// Returns the progress of a request whose answer may have `max_bytes`.
    pub fn new(max_bytes: usize) -> Self {
        Self { received: AtomicUsize::new(0), max_bytes }
    }

    /// Adds a part of the answer, hidden reasoning included. Fails once the answer is too large.
    pub fn receive(&self, part: &str) -> Result<(), Error> {
        let before = self.received.fetch_add(part.len(), Ordering::Relaxed);
        if before + part.len() > self.max_bytes {
            return Err(Error::AnswerTooLarge { max_bytes: self.max_bytes });
        }
        Ok(())
    }

    /// Returns the size of what was received, in bytes.
    pub fn received(&self) -> usize {
        self.received.load(Ordering::Relaxed)
    }
}
