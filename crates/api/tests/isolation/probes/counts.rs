//! Counts after all writes: exactly those of the project.

use mc_store::testing::text;

use crate::attempt::{Answer, Attempt};
use crate::marks::{Places, ids_in, marks_in};
use crate::oracle::{self, Scope};
use crate::run::Fault;
use crate::world::World;

/// The counts of an overview, and their tables.
const COUNTED: [(&str, &str); 8] = [
    ("records", "memory_records where state in ('active', 'stale') and ttl > now() and"),
    ("docs", "docs where"),
    ("dialogs", "dialogs where"),
    ("tasks", "tasks where"),
    ("repositories", "repositories where"),
    ("files", "files where"),
    ("passages", "passages where"),
    ("pending_vectors", "embedding_queue where"),
];

/// Passages and vectors that others find than the record is for.
const MISPLACED: &str = "select concat_ws(' ',
    (select count(*) from passages p join memory_records r on r.id = p.record_id
     where r.visibility = 'proposed' or p.private_to is distinct from r.private_to),
    (select count(*) from embeddings e join passages p on p.id = e.passage_id
     where e.private_to is distinct from p.private_to),
    (select count(*) from embedding_queue q join passages p on p.id = q.passage_id
     where q.private_to is distinct from p.private_to))";

pub async fn counts(world: &World) -> Result<(), Fault> {
    delivered(world).await?;
    let misplaced = text(world.database.store(), MISPLACED).await.map_err(|e| e.to_string())?;
    if misplaced != "0 0 0" {
        return Err(format!("{misplaced} passages and vectors are for others than their records"));
    }
    for person in &world.people {
        let fitting = |one: &&crate::world::Credential| one.is_valid && one.is_for(Scope::Read);
        let Some(credential) = person.credentials.iter().find(fitting) else { continue };
        let seen = world.projects.iter().filter(|project| oracle::role(person, project).is_some());
        for project in seen {
            let request = Attempt::get(format!("/projects/{}", project.key))
                .header("authorization", format!("Bearer {}", credential.bearer));
            let answer = Answer::to(&request, world).await;
            let counted = COUNTED.map(|(_, rows)| {
                let kept = ["memory_records", "passages", "embedding_queue"];
                let kept = kept.iter().any(|table| rows.starts_with(table));
                let reader = if kept {
                    format!("and coalesce(private_to = '{}', true)", person.id)
                } else {
                    String::new()
                };
                format!("(select count(*) from {rows} project_id = '{}' {reader})", project.id)
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

/// Deliveries to a webhook belong to its project only, and reveal nothing of others.
async fn delivered(world: &World) -> Result<(), Fault> {
    for project in &world.projects {
        let sql = format!(
            "select coalesce(string_agg(concat_ws(' ', d.project_id, d.external_id, d.event_type, \
             d.event, d.outcome), ' '), '')
             from webhook_deliveries d join webhooks h on h.id = d.webhook_id where h.project_id = \
             '{}'",
            project.id
        );
        let kept = text(world.database.store(), &sql).await.map_err(|e| e.to_string())?;
        let own = Places::one(project.place);
        let marks: Vec<_> = marks_in(kept.as_bytes(), b"").into_iter().map(|(of, _)| of).collect();
        let ids = ids_in(kept.as_bytes(), b"").into_iter().filter_map(|id| world.owner(id));
        if let Some(place) = marks.iter().copied().chain(ids).find(|place| !own.holds(*place)) {
            let (to, of) = (&project.key, world.describe(place));
            return Err(format!("what was delivered to {to} is kept with what is of {of}"));
        }
        if marks.len() < project.deliveries.len() {
            return Err(format!("{} marks in what was delivered: the probe is blind", marks.len()));
        }
    }
    Ok(())
}
