//! Foreign keys that do not compare the project.

use std::sync::Arc;

use mc_store::testing::text;

use super::{Mutant, all_are_noticed};
use crate::run::seed;
use crate::world::World;

/// Returns a mutant of each foreign key between tables with rows of projects: it compares the id
/// alone. A key to something that has no id of its own can't do without the project.
async fn of_foreign_keys(world: &World) -> Vec<Mutant> {
    let sql = "select string_agg(concat_ws(chr(31), k.conrelid::regclass, k.conname,
                                           pg_get_constraintdef(k.oid)),
                                 chr(30) order by k.conname)
               from pg_constraint k
               where k.contype = 'f' and pg_get_constraintdef(k.oid) like '%(project_id, %'
                   and exists (
                       select from pg_index i
                       join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
                       where i.indrelid = k.confrelid and i.indisunique and i.indnkeyatts = 1
                           and a.attname <> 'project_id' and a.attnum = any (k.confkey))";
    let keys = text(world.database.store(), sql).await.unwrap();
    let mutant = |key: &str| {
        let [table, name, definition] = key.split('\u{1f}').collect::<Vec<_>>()[..] else {
            panic!("{key}")
        };
        let replace = |definition: &str| {
            format!(
                "alter table {table} drop constraint {name}, add constraint {name} {definition}"
            )
        };
        Mutant {
            name: format!("{name} without the project"),
            sql: replace(&definition.replace("(project_id, ", "(")),
            undo: replace(definition),
            lifted: false,
        }
    };
    keys.split('\u{1e}').map(mutant).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn foreign_key_without_the_project_is_detected() {
    let world = Arc::new(World::build(seed()).await);
    let mutants = of_foreign_keys(&world).await;
    assert!(mutants.len() >= 40, "{} mutants", mutants.len());
    all_are_noticed(&world, &mutants, "foreign keys").await;
}
