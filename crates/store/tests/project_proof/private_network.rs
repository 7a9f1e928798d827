//! Access of index runs to the service's machine and private network.

use mc_store::repositories::{self, set_network_access};
use mc_store::testing::{last_text, write};

use super::{World, code_in, is_refused, message_with};

const STORED: &str = "select allows_private_network::text from repositories";

#[tokio::test]
async fn only_the_service_allows_access_to_the_private_network() {
    let world = World::with_rows().await;
    world.add_rows(world.ours, 2).await;
    let repository = repositories::list(&world.ann, world.ours).await.unwrap().remove(0).id;
    let call = |code: &str| {
        format!("select mc.allow_private_network('{}', '{repository}', {code})", world.ann_id)
    };
    let mut tx = world.ann.begin().await.unwrap();
    set_network_access(&mut tx, repository, true).await.unwrap();
    // Another session can read the message.
    let sent = message_with(world.db.service(), "allow_private_network", "").await;
    drop(tx);
    assert!(sent.starts_with("select 1; "), "one statement could repeat it: {sent}");

    let insert = format!(
        "insert into repositories (id, project_id, owner, name, location, allows_private_network)
         values (gen_random_uuid(), '{}', 'o', 'root', '/root', true)",
        world.ours
    );
    let update = "update repositories set allows_private_network = true";
    for code in ["null", "''", &*code_in(&sent)] {
        for attack in [update, &*insert] {
            let attacked = last_text(&world.ann, &[attack, "select ''"]).await;
            assert!(is_refused(attacked), "{attack}");
        }
        for attack in [&*call(code), &*sent] {
            assert!(last_text(&world.ann, &[attack, "select ''"]).await.is_err(), "{attack}");
        }
        assert!(is_refused(last_text(&world.ann, &[&call(code)]).await), "{code}");
    }
    assert!(is_refused(write(&world.ann, update).await));
    assert_eq!(last_text(&world.ann, &[STORED]).await.unwrap(), "false");
}

#[tokio::test]
async fn access_to_the_private_network_ends_with_the_location() {
    let world = World::with_rows().await;
    world.add_rows(world.ours, 2).await;
    let repository = repositories::list(&world.ann, world.ours).await.unwrap().remove(0).id;
    let allow = async |is_allowed: bool| {
        let mut tx = world.ann.begin().await.unwrap();
        set_network_access(&mut tx, repository, is_allowed).await.unwrap();
        tx.commit().await.unwrap();
    };
    allow(true).await;
    for (change, allowed) in [
        ("update repositories set name = 'renamed'", "true"),
        ("update repositories set location = location", "true"),
        ("update repositories set location = '/root'", "false"),
        ("update repositories set location = '/root', allows_private_network = true", "false"),
    ] {
        let seen = last_text(&world.ann, &[change, STORED]).await.unwrap();
        assert_eq!(seen, allowed, "{change}");
    }
    allow(false).await;
    assert_eq!(last_text(&world.ann, &[STORED]).await.unwrap(), "false");
}
