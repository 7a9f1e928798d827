//! Parsing of commits, for benchmarks. The service parses them when it reads a repository.

use super::log::{MemoryBudget, Reader};
use super::message;

/// Parses the output of `git log`, whose fields end with NUL. Returns the number of commits.
pub fn parse_log(log: &[u8]) -> usize {
    let mut reader = Reader::new(false, MemoryBudget::default());
    for field in log.split(|byte| *byte == 0) {
        reader.read_field(field);
    }
    let log = reader.finish();
    log.entries.len() + log.omitted_commits
}

/// Removes trailers and references from the message of a commit.
pub fn clean_message(message: &str) -> String {
    message::clean(message)
}
