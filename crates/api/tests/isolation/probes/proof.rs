//! SQL of an attacker's choice that runs as the service's role: it can't set a project context.

use mc_store::testing::{last_text, text, write};

use super::policies::is_refused;
use crate::run::Fault;
use crate::world::{Person, Post, World};

/// Functions that the policies call.
const FUNCTIONS: [&str; 6] = [
    "principal",
    "project_as_viewer",
    "project_as_agent",
    "project_as_member",
    "project_as_maintainer",
    "project_as_admin",
];

pub async fn proof(world: &World) -> Result<(), Fault> {
    let is_root = |one: &&Person| one.post == Post::Root;
    let root = world.people.iter().find(is_root).expect("an administrator").id;
    let project = world.projects[0].id;
    let service = world.database.service();
    let mac = "0".repeat(64);
    for (function, target) in [
        ("set_project_context", project.to_string()),
        ("set_audit_context", uuid_of_service()),
        ("set_user_context", uuid::Uuid::nil().to_string()),
        ("find_project_by_key", world.projects[0].key.clone()),
        ("allow_private_network", uuid::Uuid::nil().to_string()),
        ("open_folder", uuid::Uuid::nil().to_string()),
    ] {
        let call = format!("select mc.{function}('{root}', '{target}', '{mac}')");
        if write(service, &call).await.is_ok() {
            return Err(format!("an invented code is accepted: {call}"));
        }
    }
    let allow = "update repositories set allows_private_network = true";
    let entered = service.for_project(root.into(), project.into());
    if !is_refused(&last_text(&entered, &[allow, "select ''"]).await) {
        return Err("SQL allows index runs to read the service's machine".into());
    }
    let set = format!(
        "select set_config('memory_copilot.context', 'admin {project} {root} {mac}', true)"
    );
    for function in FUNCTIONS {
        let id = format!("select coalesce(mc.{function}()::text, '')");
        let forged = last_text(service, &[&set, &id]).await.map_err(|error| error.to_string())?;
        if !forged.is_empty() {
            return Err(format!("mc.{function} believes an invented setting"));
        }
        // Otherwise the probe would show nothing.
        let entered = text(&service.for_project(root.into(), project.into()), &id).await;
        if entered.map_err(|error| error.to_string())?.is_empty() {
            return Err(format!("mc.{function} returns nothing in a project context"));
        }
    }
    Ok(())
}

/// Returns the id of the service's audit chain.
fn uuid_of_service() -> String {
    mc_store::audit::Chain::Service.id().to_string()
}
