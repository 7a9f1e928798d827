//! Foreign keys. PostgreSQL checks them without regard to the policies, so each includes the
//! project.

use mc_store::testing::keys_across_projects;

use crate::run::Fault;
use crate::world::World;

pub async fn foreign_keys(world: &World) -> Result<(), Fault> {
    let across = keys_across_projects(world.database.store()).await;
    let across = across.map_err(|error| error.to_string())?;
    if across.is_empty() {
        return Ok(());
    }
    Err(format!("a row can refer to a row of another project by {across}"))
}
