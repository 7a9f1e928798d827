//! The decisions of the SQL functions for every person in every project, compared with the oracle.

use mc_store::testing::text;

use crate::oracle::{self, Rank};
use crate::run::Fault;
use crate::world::{Person, Post, World, policy};

pub async fn decisions(world: &World) -> Result<(), Fault> {
    let is_root = |one: &&Person| one.post == Post::Root;
    let root = world.people.iter().find(is_root).expect("an administrator").id;
    for person in &world.people {
        let mut asked = Vec::new();
        let mut expected = Vec::new();
        let mut seen = Vec::new();
        for project in &world.projects {
            let (who, id) = (person.id, project.id);
            let role = oracle::role(person, project).map_or("-", name);
            for call in [
                format!("mc.effective_role('{who}', '{id}')"),
                format!(
                    "(select role from mc.find_project_by_key('{who}', '{}', ''))",
                    project.key
                ),
                format!("(select role from mc.find_project('{who}', '{id}'))"),
                format!(
                    "(select role from mc.find_project_of_record('{who}', '{}'))",
                    project.records[0].id
                ),
                format!(
                    "(select role from mc.find_project_of_bundle('{who}', '{}'))",
                    project.bundles[0].id
                ),
                format!(
                    "(select role from mc.find_project_of_ingest_run('{who}', '{}'))",
                    project.runs[0].id
                ),
                format!(
                    "(select role from mc.find_project_of_workspace('{who}', '{}'))",
                    project.workspaces[0].id
                ),
            ] {
                asked.push(format!("coalesce({call}::text, '-')"));
                expected.push(role);
            }
            let curates = oracle::role(person, project) >= Some(Rank::Maintainer);
            let item = project.quarantine_items[0].id;
            asked.push(format!(
                "coalesce((select role from mc.find_project_of_quarantine_item('{who}', \
                 '{item}'))::text, '-')"
            ));
            expected.push(if curates { role } else { "-" });
            for (n, private) in project.privates.iter().enumerate() {
                let (record, navigation) = (private.records[0].id, project.navigations[n].id);
                let (patch, is_own) = (project.patches[n].id, private.owner == who);
                for (call, is_seen) in [
                    (format!("find_project_of_record('{who}', '{record}')"), is_own),
                    (format!("find_project_of_navigation('{who}', '{navigation}')"), is_own),
                    (format!("find_project_of_patch('{who}', '{patch}')"), is_own || curates),
                ] {
                    asked.push(format!("coalesce((select role from mc.{call})::text, '-')"));
                    expected.push(if is_seen { role } else { "-" });
                }
            }
            // The version in force, for who may not; one that never was, for who may.
            let version = if curates {
                "-1".to_owned()
            } else {
                format!("(select policy_version from mc.find_project('{root}', '{id}'))")
            };
            let policy = policy(project);
            asked.push(format!(
                "coalesce(mc.set_policy('{who}', '{id}', {version}, '{policy}')::text, '-')"
            ));
            expected.push("-");
            if role != "-" {
                seen.push(project.key.clone());
            }
        }
        seen.sort();
        asked.push(format!(
            "(select coalesce(string_agg(key, ',' order by key), '') from mc.list_projects('{}'))",
            person.id
        ));
        let seen = seen.join(",");
        expected.push(&seen);
        // Disabled users and agents create no projects; for others it is not tested.
        if person.post == Post::Disabled || !oracle::makes_projects(person) {
            asked.push(format!(
                "coalesce(mc.create_project('{}', gen_random_uuid(), \
                'shut-out-{0}', '')::text, '-')",
                person.id
            ));
            expected.push("-");
        }
        // An array, since a function takes no more than 100 arguments.
        let sql = format!("select array_to_string(array[{}], ' ')", asked.join(", "));
        // The worker role needs no proof, so only the user's role decides.
        let decided = text(world.database.store(), &sql).await.map_err(|e| e.to_string())?;
        let expected = expected.join(" ");
        if decided != expected {
            return Err(format!(
                "for the {:?} of {:?} the database decides\n{decided}\nand the oracle\n{expected}",
                person.post, person.tenant
            ));
        }
    }
    Ok(())
}

pub fn name(rank: Rank) -> &'static str {
    match rank {
        Rank::Viewer => "viewer",
        Rank::Agent => "agent",
        Rank::Member => "member",
        Rank::Maintainer => "maintainer",
        Rank::Admin => "admin",
    }
}
