use mc_domain::{ProjectId, RecordKind, SourceKind};
use mc_store::passages::IndexedPassage;
use tantivy::query::ConstScoreQuery;

use super::*;
use crate::glob;
use crate::index::fixtures::{full, index_of};
use crate::index::statistics::Statistics;
use crate::query;

/// Two projects with passages that differ only in their ids.
struct Twins {
    searcher: Searcher,
    fields: Fields,
    ours: IndexedPassage,
}

impl Twins {
    fn new() -> Self {
        let [ours, theirs] = [full(ProjectId::generate()), full(ProjectId::generate())];
        // Equal in all that a filter compares.
        let theirs =
            IndexedPassage { private_to: ours.private_to, repository: ours.repository, ..theirs };
        let (searcher, fields) = index_of(&[theirs, ours.clone()]);
        Self { searcher, fields, ours }
    }

    fn scope(&self) -> Scope {
        Scope::of(self.ours.project)
    }

    /// Returns the results of a query alone.
    fn found(&self, query: &dyn Query) -> Vec<PassageId> {
        let (project, corpus) = (self.ours.project, Corpus::Passages);
        let statistics =
            Statistics::default().of_corpus(&self.searcher, &self.fields, project, corpus);
        let lookup = Lookup {
            searcher: &self.searcher,
            fields: &self.fields,
            scope: &self.scope(),
            corpus,
            statistics: statistics.expect("figures"),
            limit: 10,
        };
        let query = ConstScoreQuery::new(query.box_clone(), 1.0);
        lookup.top(&query).expect("a search").into_iter().map(|(id, _)| id).collect()
    }

    /// Returns the private passages that a search of `reader` excludes.
    fn excluded(&self, reader: Option<UserId>) -> Vec<PassageId> {
        let clause = filter::others_private(&self.searcher, &self.scope(), reader, &self.fields);
        let (_, query) = clause.expect("a search").expect("something private");
        self.found(query.as_ref())
    }
}

#[test]
fn a_filter_matches_only_its_own_project() {
    let twins = Twins::new();
    let project = PassageFilter::project(twins.ours.project);
    let strings = |values: &[&str]| -> Vec<String> {
        values.iter().map(|value| (*value).to_owned()).collect()
    };
    let path = |pattern| Some(glob::to_regex(pattern).expect("a glob"));
    for filter in [
        PassageFilter { sources: vec![SourceKind::Memory], ..project.clone() },
        PassageFilter { sources: vec![SourceKind::Doc, SourceKind::Memory], ..project.clone() },
        PassageFilter { record_kinds: vec![RecordKind::Gotcha], ..project.clone() },
        PassageFilter {
            record_kinds: vec![RecordKind::Fact, RecordKind::Gotcha],
            ..project.clone()
        },
        PassageFilter { scope: strings(&["wages"]), ..project.clone() },
        PassageFilter { scope: strings(&["taxes", "wages", "x"]), ..project.clone() },
        PassageFilter { tags: strings(&["billing"]), ..project.clone() },
        PassageFilter { tags: strings(&["billing", "money"]), ..project.clone() },
        PassageFilter {
            repositories: twins.ours.repository.into_iter().collect(),
            ..project.clone()
        },
        PassageFilter { languages: strings(&["ruby"]), ..project.clone() },
        PassageFilter { languages: strings(&["go", "ruby"]), ..project.clone() },
        PassageFilter { path_regex: path("**/payroll/**"), ..project.clone() },
        PassageFilter { path_regex: path("{app,lib}/**/*.rb"), ..project.clone() },
        PassageFilter { path_regex: path("**"), ..project.clone() },
    ] {
        let clauses = filter::clauses(&filter, &twins.scope(), &twins.fields).expect("clauses");
        assert_eq!(clauses.len(), 1, "{filter:?}");
        assert_eq!(twins.found(&BooleanQuery::new(clauses)), [twins.ours.id], "{filter:?}");
        let matches = |reader, max| {
            super::matches(&twins.searcher, &twins.fields, &filter, reader, max).expect("a result")
        };
        let owner = twins.ours.private_to;
        assert_eq!(matches(owner, 1), FilterMatches::Few(vec![twins.ours.id]), "{filter:?}");
        assert_eq!(matches(owner, 0), FilterMatches::Many, "{filter:?}");
        assert_eq!(matches(None, 0), FilterMatches::Few(Vec::new()), "{filter:?}");
    }
}

#[test]
fn a_name_matches_only_its_own_project() {
    let twins = Twins::new();
    let empty = query::Query::text("", PassageFilter::project(twins.ours.project));
    for query in [
        query::Query { symbols: vec!["Payroll::Run#total".into()], ..empty.clone() },
        query::Query { paths: vec!["payroll/run.rb".into()], ..empty.clone() },
    ] {
        let names = query::parse(&query);
        let lookup = exact::names(&twins.scope(), &twins.fields, &names).expect("a name");
        assert_eq!(twins.found(lookup.as_ref()), [twins.ours.id], "{query:?}");
    }
}

#[test]
fn private_passages_of_others_are_excluded() {
    let twins = Twins::new();
    assert_eq!(twins.excluded(None), [twins.ours.id]);
    assert_eq!(twins.excluded(Some(UserId::generate())), [twins.ours.id]);
    assert!(twins.excluded(twins.ours.private_to).is_empty(), "its owner finds it");
    // A project without private passages is not affected by those of another.
    let open = Scope::of(ProjectId::generate());
    let clause = filter::others_private(&twins.searcher, &open, None, &twins.fields);
    assert!(clause.expect("a search").is_none());
}
