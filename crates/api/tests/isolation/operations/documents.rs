//! Documents, whole.

use super::{Draw, Target};
use crate::attempt::Attempt;
use crate::oracle::READ;

pub fn list(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let mut query = format!("/documents?project_key={}&limit=200", d.key(target));
    if d.one_in(3) {
        let after = d.thing(|project| &project.docs).map_or_else(|| d.id(), |(_, thing)| thing.id);
        query.push_str(&format!("&cursor={after}"));
        return d.in_project(Attempt::get(query), READ, target);
    }
    let attempt = d.in_project(Attempt::get(query), READ, target);
    match target {
        Target::Of(project) if attempt.is_allowed() => {
            attempt.shows(&project.docs[0].id.to_string()).shows(&project.docs[1].id.to_string())
        }
        _ => attempt,
    }
}

pub fn open(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let key = d.key(target);
    let named = d.thing(|project| &project.docs);
    let by_id = d.one_in(2);
    let (field, name) = match named {
        Some((_, thing)) if by_id => ("id", thing.id.to_string()),
        None if by_id => ("id", d.id().to_string()),
        Some((_, thing)) => ("title", thing.name.clone()),
        None => ("title", d.name()),
    };
    let encoded = name.replace(' ', "%20");
    let attempt = Attempt::get(format!("/documents/lookup?project_key={key}&{field}={encoded}"));
    let attempt = d.in_project(attempt, READ, target);
    let (Target::Of(project), true) = (target, attempt.is_allowed()) else { return attempt };
    let own = project
        .docs
        .iter()
        .find(|one| if by_id { one.id.to_string() == name } else { one.name == name });
    match own {
        Some(own) => attempt.shows(&own.mark),
        None if by_id => {
            let missing = d.id().to_string();
            Attempt { twin: Some((name, missing)), ..attempt.expect(404) }
        }
        // The error suggests similar titles of this project.
        None => attempt.expect(404),
    }
}
