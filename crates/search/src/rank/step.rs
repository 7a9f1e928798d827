//! The steps of a ranking by name, each of which a search can do without: so that what it is worth
//! can be measured.

/// A step. docs/retrieval.md has what each is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// The retriever of symbols and paths.
    Exact,
    /// The retriever of words.
    Keyword,
    /// The retriever of meaning.
    Vector,
    /// Files that similar past changes touched.
    History,
    /// Words of the text alone.
    Body,
    /// Words of the text with what it is read with: place, title, what was said before it.
    Window,
    /// Words of the place.
    Path,
    /// Words of a memory record, where nothing but records is sought.
    Record,
    /// The question's meaning without the words that many of the project's records have, where
    /// nothing but records is sought.
    Telling,
    /// Words of another script read in English, where no passage has any of them.
    Gloss,
    /// Leaving out the words of a question that say nothing.
    StopWords,
    /// Passages of one file or document support each other.
    Siblings,
    /// A passage defines a symbol that the query names.
    ExactSymbol,
    /// A passage lies at a path that the query names.
    ExactPath,
    /// A file lies in the part of the system that the query names in front of its colon.
    ScopePrefix,
    /// A note holds an identifier of the query.
    SameIdentifier,
    /// What people remember fades.
    Recency,
    /// What was of use before.
    Usefulness,
    /// The scope holds a path of the query or is a word of it.
    Scope,
    /// Said by somebody whom the query names.
    Author,
    /// Code that a record cites has changed.
    Stale,
}

impl Step {
    /// In the order in which they are taken.
    pub const ALL: &[Self] = &[
        Self::StopWords,
        Self::Exact,
        Self::Keyword,
        Self::Body,
        Self::Window,
        Self::Path,
        Self::Record,
        Self::Vector,
        Self::Telling,
        Self::Gloss,
        Self::History,
        Self::Siblings,
        Self::ExactSymbol,
        Self::ExactPath,
        Self::ScopePrefix,
        Self::SameIdentifier,
        Self::Recency,
        Self::Usefulness,
        Self::Scope,
        Self::Author,
        Self::Stale,
    ];

    /// The name in requests and explanations.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Keyword => "keyword",
            Self::Vector => "vector",
            Self::History => "history",
            Self::Body => "body",
            Self::Window => "window",
            Self::Path => "path",
            Self::Record => "record",
            Self::Telling => "telling",
            Self::Gloss => "gloss",
            Self::StopWords => "stop_words",
            Self::Siblings => "siblings",
            Self::ExactSymbol => "exact_symbol",
            Self::ExactPath => "exact_path",
            Self::ScopePrefix => "scope_prefix",
            Self::SameIdentifier => "same_identifier",
            Self::Recency => "recency",
            Self::Usefulness => "usefulness",
            Self::Scope => "scope",
            Self::Author => "author",
            Self::Stale => "stale",
        }
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The steps that a ranking does without.
#[derive(Debug, Clone, Default)]
pub struct DisabledSteps(Vec<Step>);

impl DisabledSteps {
    /// Whether this one is taken.
    pub fn takes(&self, step: Step) -> bool {
        !self.0.contains(&step)
    }
}

impl FromIterator<Step> for DisabledSteps {
    fn from_iter<T: IntoIterator<Item = Step>>(steps: T) -> Self {
        Self(steps.into_iter().collect())
    }
}
