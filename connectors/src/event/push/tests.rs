use super::*;

fn push(reference: &str, is_default: bool) -> Push {
    Push {
        path: "Shop/core".to_owned(),
        urls: vec![
            "https://git.example.org/Shop/core.git".to_owned(),
            "git@git.example.org:Shop/core.git".to_owned(),
        ],
        reference: reference.to_owned(),
        is_default,
        after: Some("a".repeat(40)),
        is_forced: false,
        commits: Vec::new(),
    }
}

#[test]
fn push_matches_its_repository_over_any_protocol() {
    let push = push("refs/heads/main", true);
    for location in [
        "https://git.example.org/Shop/core.git",
        "https://git.example.org/shop/core",
        "https://reader@git.example.org:8443/shop/core/",
        "ssh://git@git.example.org/Shop/core.git",
        "git@GIT.example.org:shop/core.git",
    ] {
        assert!(contains_repository(&push.urls, location), "{location}");
    }
    for location in [
        "https://git.example.com/shop/core",
        "https://git.example.org/shop/core-ui",
        "https://git.example.org/other/shop/core",
        "/srv/git/shop/core",
        "file:///srv/git/shop/core.git",
        "https://git.example.org",
        "",
    ] {
        assert!(!contains_repository(&push.urls, location), "{location}");
    }
}

#[test]
fn push_updates_only_its_own_ref() {
    let main = push("refs/heads/main", true);
    assert!(
        main.updates_ref("") && main.updates_ref("main") && main.updates_ref("refs/heads/main")
    );
    assert!(!main.updates_ref("wip") && !main.updates_ref("refs/tags/main"));
    let wip = push("refs/heads/team/wip", false);
    assert!(!wip.updates_ref("") && wip.updates_ref("team/wip") && !wip.updates_ref("wip"));
    let tag = push("refs/tags/v1", false);
    assert!(tag.updates_ref("v1") && !tag.updates_ref(""));
}
