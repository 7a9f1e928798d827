//! The filter of a search.

use mc_domain::{ProjectId, RecordKind, SourceKind};

/// A filter of the passages that a search may return. An empty list allows all.
#[derive(Debug, Clone)]
pub struct PassageFilter {
    /// The project; no search crosses projects.
    pub project: ProjectId,
    /// Kinds of source; an empty list allows [`SourceKind::SEARCHED`].
    pub sources: Vec<SourceKind>,
    /// Kinds of memory record.
    pub record_kinds: Vec<RecordKind>,
    /// At least one of these scopes.
    pub scope: Vec<String>,
    /// At least one of these tags.
    pub tags: Vec<String>,
    /// Languages as the indexer names them (`rust`, `ruby`).
    pub languages: Vec<String>,
    /// Regular expression that matches the whole location, in the syntax common to PostgreSQL's `~`
    /// and the keyword index.
    pub path_regex: Option<String>,
}

impl PassageFilter {
    /// Returns a filter that allows all passages of a project.
    pub fn project(project: ProjectId) -> Self {
        Self {
            project,
            sources: Vec::new(),
            record_kinds: Vec::new(),
            scope: Vec::new(),
            tags: Vec::new(),
            languages: Vec::new(),
            path_regex: None,
        }
    }

    /// Returns the kinds of source to search; never empty.
    pub fn searched_sources(&self) -> &[SourceKind] {
        match self.sources.as_slice() {
            [] => SourceKind::SEARCHED,
            kinds => kinds,
        }
    }

    /// Returns whether the filter only restricts project and source.
    pub fn is_plain(&self) -> bool {
        self.record_kinds.is_empty()
            && self.scope.is_empty()
            && self.tags.is_empty()
            && self.languages.is_empty()
            && self.path_regex.is_none()
    }
}
