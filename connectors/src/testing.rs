//! Conversions of providers' texts, for benchmarks. The service calls them in its clients.

/// Converts a page in Confluence's storage format to Markdown.
pub fn confluence_to_markdown(storage: &str) -> String {
    crate::confluence::storage_to_markdown(storage)
}
