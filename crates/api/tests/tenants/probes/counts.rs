//! Counts, once nobody writes: exactly those of the project.

use mc_store::testing::text;

use crate::attempt::{Answer, Attempt};
use crate::oracle::{self, Scope};
use crate::run::Fault;
use crate::world::World;

/// What an overview counts, and the rows that it counts.
const COUNTED: [(&str, &str); 7] = [
    ("records", "memory_records where state in ('active', 'stale') and ttl > now() and"),
    ("docs", "docs where"),
    ("dialogs", "dialogs where"),
    ("tasks", "tasks where"),
    ("repositories", "repositories where"),
    ("files", "files where"),
    ("passages", "passages where"),
];

pub async fn counts(world: &World) -> Result<(), Fault> {
    for person in &world.people {
        let fitting = |one: &&crate::world::Credential| one.is_valid && one.is_for(Scope::Read);
        let Some(credential) = person.credentials.iter().find(fitting) else { continue };
        let seen = world.projects.iter().filter(|project| oracle::role(person, project).is_some());
        for project in seen {
            let request = Attempt::get(format!("/projects/{}", project.key))
                .header("authorization", format!("Bearer {}", credential.bearer));
            let answer = Answer::to(&request, world).await;
            let counted = COUNTED.map(|(_, rows)| {
                format!("(select count(*) from {rows} project_id = '{}')", project.id)
            });
            let sql = format!("select concat_ws(' ', {})", counted.join(", "));
            let expected = text(world.database.store(), &sql).await.map_err(|e| e.to_string())?;
            let shown = COUNTED.map(|(name, _)| answer.body[name].to_string()).join(" ");
            if shown != expected {
                return Err(format!(
                    "the {:?} of {:?} is told {shown}, where {} has {expected}",
                    person.post, person.tenant, project.key
                ));
            }
        }
    }
    Ok(())
}
