//! The filter of a search.

use mc_domain::{ProjectId, RecordKind, SourceKind};

/// Which passages a search may return. Empty lists stand for "any".
#[derive(Debug, Clone)]
pub struct PassageFilter {
    /// The project; there is no search across projects.
    pub project: ProjectId,
    /// What the passages were cut from; "any" are those of [`SourceKind::SEARCHED`].
    pub sources: Vec<SourceKind>,
    /// Kinds of memory record.
    pub record_kinds: Vec<RecordKind>,
    /// At least one of these scopes.
    pub scope: Vec<String>,
    /// At least one of these tags.
    pub tags: Vec<String>,
    /// Languages as the indexer names them (`rust`, `ruby`).
    pub languages: Vec<String>,
    /// Regular expression over the whole place, in the dialect that PostgreSQL's `~` and the
    /// keyword index share.
    pub path_regex: Option<String>,
}

impl PassageFilter {
    /// Everything in a project.
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

    /// What the passages were cut from; never empty.
    pub fn searched_sources(&self) -> &[SourceKind] {
        match self.sources.as_slice() {
            [] => SourceKind::SEARCHED,
            asked => asked,
        }
    }

    /// Whether the project and the kind of source are all that is asked of a passage.
    pub fn is_plain(&self) -> bool {
        self.record_kinds.is_empty()
            && self.scope.is_empty()
            && self.tags.is_empty()
            && self.languages.is_empty()
            && self.path_regex.is_none()
    }
}
