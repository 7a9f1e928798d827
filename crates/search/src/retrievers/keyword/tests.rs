use mc_domain::{ProjectId, RecordKind, SourceKind};
use mc_store::passages::IndexedPassage;
use tantivy::query::ConstScoreQuery;

use super::*;
use crate::glob;
use crate::index::fixtures::{full, index_of};
use crate::index::statistics::Statistics;
use crate::query;

/// Two projects with passages that differ in nothing but their ids.
struct Twins {
    searcher: Searcher,
    fields: Fields,
    ours: IndexedPassage,
}

impl Twins {
    fn new() -> Self {
        let [ours, theirs] = [full(ProjectId::generate()), full(ProjectId::generate())];
        let theirs = IndexedPassage { private_to: ours.private_to, ..theirs };
        let (searcher, fields) = index_of(&[theirs, ours.clone()]);
        Self { searcher, fields, ours }
    }

    fn scope(&self) -> Scope {
        Scope::of(self.ours.project)
    }

    /// What a query finds by itself, without words that would narrow it.
    fn found(&self, query: &dyn Query) -> Vec<PassageId> {
        let (project, corpus) = (self.ours.project, Corpus::Passages);
        let statistics = Statistics::default().of(&self.searcher, &self.fields, project, corpus);
        let lookup = Lookup {
            searcher: &self.searcher,
            fields: &self.fields,
            corpus,
            statistics: statistics.expect("figures"),
            limit: 10,
        };
        let query = ConstScoreQuery::new(query.box_clone(), 1.0);
        lookup.top(&query).expect("a search").into_iter().map(|(id, _)| id).collect()
    }

    /// What others may not find of ours, as the search for `reader` leaves it out.
    fn left_out(&self, reader: Option<UserId>) -> Vec<PassageId> {
        let clause = filter::others_private(&self.searcher, &self.scope(), reader, &self.fields);
        let (_, query) = clause.expect("a search").expect("something private");
        self.found(query.as_ref())
    }
}

#[test]
fn a_filter_matches_only_its_own_project() {
    let twins = Twins::new();
    let all = PassageFilter::project(twins.ours.project);
    let strings = |values: &[&str]| -> Vec<String> {
        values.iter().map(|value| (*value).to_owned()).collect()
    };
    let path = |pattern| Some(glob::to_regex(pattern).expect("a glob"));
    for filter in [
        PassageFilter { sources: vec![SourceKind::Memory], ..all.clone() },
        PassageFilter { sources: vec![SourceKind::Doc, SourceKind::Memory], ..all.clone() },
        PassageFilter { record_kinds: vec![RecordKind::Gotcha], ..all.clone() },
        PassageFilter { record_kinds: vec![RecordKind::Fact, RecordKind::Gotcha], ..all.clone() },
        PassageFilter { scope: strings(&["wages"]), ..all.clone() },
        PassageFilter { scope: strings(&["taxes", "wages", "x"]), ..all.clone() },
        PassageFilter { tags: strings(&["billing"]), ..all.clone() },
        PassageFilter { tags: strings(&["billing", "money"]), ..all.clone() },
        PassageFilter { languages: strings(&["ruby"]), ..all.clone() },
        PassageFilter { languages: strings(&["go", "ruby"]), ..all.clone() },
        PassageFilter { path_regex: path("**/payroll/**"), ..all.clone() },
        PassageFilter { path_regex: path("{app,lib}/**/*.rb"), ..all.clone() },
        PassageFilter { path_regex: path("**"), ..all.clone() },
    ] {
        let clauses = filter::clauses(&filter, &twins.scope(), &twins.fields).expect("clauses");
        assert_eq!(clauses.len(), 1, "{filter:?}");
        assert_eq!(twins.found(&BooleanQuery::new(clauses)), [twins.ours.id], "{filter:?}");
        let passing = |reader, most| {
            super::passing(&twins.searcher, &twins.fields, &filter, reader, most).expect("a look")
        };
        let owner = twins.ours.private_to;
        assert_eq!(passing(owner, 1), Passing::Few(vec![twins.ours.id]), "{filter:?}");
        assert_eq!(passing(owner, 0), Passing::Many, "{filter:?}");
        assert_eq!(passing(None, 0), Passing::Few(Vec::new()), "{filter:?}");
    }
}

#[test]
fn a_name_matches_only_its_own_project() {
    let twins = Twins::new();
    let asked = query::Query::text("", PassageFilter::project(twins.ours.project));
    for asked in [
        query::Query { symbols: vec!["Payroll::Run#total".into()], ..asked.clone() },
        query::Query { paths: vec!["payroll/run.rb".into()], ..asked.clone() },
    ] {
        let names = query::parse(&asked);
        let query = exact::names(&twins.scope(), &twins.fields, &names).expect("a name");
        assert_eq!(twins.found(query.as_ref()), [twins.ours.id], "{asked:?}");
    }
}

#[test]
fn private_passages_of_others_are_left_out() {
    let twins = Twins::new();
    assert_eq!(twins.left_out(None), [twins.ours.id]);
    assert_eq!(twins.left_out(Some(UserId::generate())), [twins.ours.id]);
    assert!(twins.left_out(twins.ours.private_to).is_empty(), "its owner finds it");
    // A project in which nothing is private does not see that another has something.
    let open = Scope::of(ProjectId::generate());
    let clause = filter::others_private(&twins.searcher, &open, None, &twins.fields);
    assert!(clause.expect("a search").is_none());
}
