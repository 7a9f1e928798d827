//! The steps of a ranking.

vocabularies! {
    /// A step of the ranking, in the order in which they are applied. `docs/retrieval.md` has what
    /// each contributes.
    RankingStep, "ranking step", {
        /// Query words that say nothing are dropped.
        StopWords = "stop_words",
        /// The retriever of symbols and paths.
        Exact = "exact",
        /// The retriever of words (BM25).
        Keyword = "keyword",
        /// Words of the text alone.
        Body = "body",
        /// Words of the text with its title, location and context.
        Window = "window",
        /// Words of the location.
        Path = "path",
        /// Words of a record, in a search over records alone.
        Record = "record",
        /// The retriever of meaning.
        Vector = "vector",
        /// The query's meaning without words that many of the project's records have, in a search
        /// over records alone.
        Telling = "telling",
        /// Russian query words read in English, if no passage has any of them.
        Gloss = "gloss",
        /// Files that similar past changes touched, by the commit history of the repository.
        History = "history",
        /// Passages of one file or document support each other.
        Siblings = "siblings",
        /// The passage defines a symbol that the query names.
        ExactSymbol = "exact_symbol",
        /// The passage is at a path that the query names.
        ExactPath = "exact_path",
        /// The file is in the part of the system that the query names before its colon:
        /// `fix(jwt): ...`.
        ScopePrefix = "scope_prefix",
        /// Translations of the texts of a program rank lower, unless the query is about them.
        Translation = "translation",
        /// The note holds an identifier of the query.
        SameIdentifier = "same_identifier",
        /// Older records and dialogs rank lower.
        Recency = "recency",
        /// Records that were used before rank higher.
        Usefulness = "usefulness",
        /// The scope holds a path of the query or is a word of it.
        Scope = "scope",
        /// The author is a person whom the query names.
        Author = "author",
        /// The code that the record cites has changed.
        Stale = "stale",
    }
}
