//! Absolute paths of clients, and the paths in a repository that they stand for.

use mc_memory::resolve_path;

use crate::support::World;

/// Asserts what each path resolves to. The project has one repository, `shop` at `/srv/shop`.
async fn assert_resolved(world: &World, cases: &[(&str, Option<&str>)]) {
    for (path, expected) in cases {
        let found = resolve_path(&world.ctx, world.project, path).await.unwrap();
        assert_eq!(found.as_deref(), *expected, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn absolute_path_is_resolved_by_location_name_or_its_end() {
    let world = World::new().await;
    world.index_file("app/cart.rb", "class Cart; end", None).await;
    let cases = [
        ("/srv/shop/lib/new.rb", Some("lib/new.rb")),
        ("/home/me/shop/app/cart.rb", Some("app/cart.rb")),
        ("/home/me/shop/new.rb", Some("new.rb")),
        ("/home/me/copy/app/cart.rb", Some("app/cart.rb")),
        ("/home/shop/copy/app/cart.rb", Some("app/cart.rb")),
        ("/etc/passwd", None),
    ];
    assert_resolved(&world, &cases).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deep_path_is_resolved_by_the_name_of_its_repository() {
    let world = World::new().await;
    world.index_file("app/cart.rb", "class Cart; end", None).await;
    let deep = format!("{}new.rb", "d/".repeat(40));
    let cases = [
        (format!("/home/me/shop/{deep}"), Some(deep.as_str())),
        (format!("/home/me/copy/{deep}"), None),
        (format!("/home/me/{}{deep}", "shop/".repeat(100)), Some(deep.as_str())),
    ];
    let cases = cases.each_ref().map(|(path, expected)| (path.as_str(), *expected));
    assert_resolved(&world, &cases).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn path_below_a_repository_wins_over_a_directory_of_its_name() {
    let world = World::new().await;
    for path in ["app/cart.rb", "shop/app/cart.rb", "shop/version.rb"] {
        world.index_file(path, "class Cart; end", None).await;
    }
    let cases = [
        ("/home/me/shop/app/cart.rb", Some("app/cart.rb")),
        ("/home/me/shop/app", Some("app")),
        ("/home/me/shop/shop/app/cart.rb", Some("shop/app/cart.rb")),
        ("/home/me/shop/shop/version.rb", Some("shop/version.rb")),
        ("/home/me/shop/shop", Some("shop")),
        ("/home/me/shop", Some("")),
    ];
    assert_resolved(&world, &cases).await;
}
