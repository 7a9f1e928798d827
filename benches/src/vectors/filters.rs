//! All filters of a search, from the least to the most selective.

use mc_domain::{RecordKind, SourceKind};
use mc_store::passages::PassageFilter;

use super::seed::Project;

/// Tags, with the number of passages that share one of them.
pub const TAGS: [(&str, usize); 4] =
    [("half", 2), ("tenth", 10), ("hundredth", 100), ("thousandth", 1_000)];

/// Returns the filters to measure, with their names.
pub fn of(project: &Project) -> Vec<(&'static str, PassageFilter)> {
    let all = PassageFilter::project(project.id);
    let source = |source| PassageFilter { sources: vec![source], ..all.clone() };
    let mut filters = vec![
        ("none", all.clone()),
        ("source: memory", source(SourceKind::Memory)),
        ("source: doc", source(SourceKind::Doc)),
        ("kind: gotcha", PassageFilter { record_kinds: vec![RecordKind::Gotcha], ..all.clone() }),
        ("language: markdown", PassageFilter { languages: vec!["markdown".into()], ..all.clone() }),
        ("scope: a crate", PassageFilter { scope: vec![project.scope.clone()], ..all.clone() }),
        (
            "path: a folder",
            PassageFilter { path_regex: Some("docs/7/[^/]*".into()), ..all.clone() },
        ),
    ];
    for (tag, _) in TAGS {
        let name = match tag {
            "half" => "tag: 1 in 2",
            "tenth" => "tag: 1 in 10",
            "hundredth" => "tag: 1 in 100",
            _ => "tag: 1 in 1,000",
        };
        filters.push((name, PassageFilter { tags: vec![tag.into()], ..all.clone() }));
    }
    filters
}
