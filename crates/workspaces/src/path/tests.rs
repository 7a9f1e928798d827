use proptest::prelude::*;

use super::*;

#[test]
fn a_path_is_relative_to_the_directory_or_in_the_root() {
    for (cwd, path, resolved) in [
        ("", "", ""),
        ("", ".", ""),
        ("src", "", "src"),
        ("src", "a.rs", "src/a.rs"),
        ("src", "./deep//a.rs", "src/deep/a.rs"),
        ("src/deep", "../a.rs", "src/a.rs"),
        ("src", "..", ""),
        ("src", "/workspace", ""),
        ("src", "/workspace/", ""),
        ("src", "/workspace/lib/a.rs", "lib/a.rs"),
        ("src", "/workspace/lib/../a.rs", "a.rs"),
        ("", ".gitignore", ".gitignore"),
        ("", "a b/é", "a b/é"),
    ] {
        assert_eq!(resolve(cwd, path).expect(path), resolved, "{cwd:?} {path:?}");
    }
}

#[test]
fn a_path_to_the_outside_is_rejected() {
    for path in [
        "..",
        "../x",
        "src/../..",
        "/",
        "/etc/passwd",
        "/workspaces/x",
        "/workspace2",
        "/workspace/..",
        "/workspace/../etc/passwd",
        "//workspace/../..",
        "/proc/self/root/etc/shadow",
    ] {
        let error = resolve("", path).expect_err(path);
        assert!(error.to_string().starts_with("Path is outside the sandbox"), "{error}");
    }
    let long = "a/".repeat(2_100);
    assert!(matches!(resolve("", &long), Err(Error::PathTooLong(_))));
    let half = "a/".repeat(1_100) + "a";
    assert!(matches!(resolve(&half, &half), Err(Error::PathTooLong(_))));
}

#[test]
fn the_directory_of_git_is_not_accessed() {
    for path in
        [".git", ".git/config", "a/.GIT/hooks", ".g\u{200c}it", "git~1/x", ".git .", ".git/../a"]
    {
        let result = resolve("", path);
        let is_left_again = path == ".git/../a";
        assert_eq!(matches!(result, Err(Error::PathOfGit(_))), !is_left_again, "{path:?}");
    }
}

proptest! {
    #[test]
    fn no_path_leaves_the_root(cwd in "[a-z]{0,3}(/[a-z]{1,3}){0,3}", path in "[a-z./\\\\]{0,30}") {
        let cwd = cwd.trim_start_matches('/');
        if let Ok(resolved) = resolve(cwd, &path) {
            prop_assert!(!resolved.starts_with('/') && !resolved.ends_with('/'));
            let is_name = |name: &str| !["", ".", ".."].contains(&name);
            let has_names = resolved.is_empty() || resolved.split('/').all(is_name);
            prop_assert!(has_names, "{}", resolved);
            // The path as it is shown leads to the same place.
            prop_assert_eq!(resolve("", &display(&resolved)).expect("a path"), resolved);
        }
    }
}
