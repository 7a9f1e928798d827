//! Conversions of providers' texts, for benchmarks. The service calls them in its clients.

use mc_parser_pool::Parser as _;

use crate::confluence::StorageParser;

/// Converts a page in Confluence's storage format to Markdown.
pub fn confluence_to_markdown(storage: &str) -> String {
    StorageParser::parse(storage)
}
