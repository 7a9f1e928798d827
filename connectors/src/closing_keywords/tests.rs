use super::*;

fn of(text: &str) -> Vec<String> {
    find_tasks(&[text], "octocat/hello")
}

#[test]
fn keyword_before_an_issue_names_it() {
    assert_eq!(of("Fixes #12."), ["octocat/hello#12"]);
    assert_eq!(
        of("this closes: #1, #2 and group/sub/x#3"),
        ["octocat/hello#1", "octocat/hello#2", "group/sub/x#3"]
    );
    assert_eq!(of("(resolved https://git.example.org/a/b/issues/7)"), ["a/b#7"]);
    assert_eq!(of("Implements https://git.example.org/a/b/c/-/issues/8"), ["a/b/c#8"]);
}

#[test]
fn issue_without_a_keyword_is_not_named() {
    for text in [
        "see #12",
        "fixes the build, see #12",
        "#12",
        "fix a#12",
        "fixes #0",
        "fixes #",
        "prefixes #12",
    ] {
        assert_eq!(of(text), [] as [&str; 0], "{text}");
    }
}

#[test]
fn tracker_key_is_found_anywhere_in_a_text() {
    assert_eq!(of("CS-214: mend the delay"), ["CS-214"]);
    assert_eq!(of("feature/CS-214-mend-the-delay"), ["CS-214"]);
    assert_eq!(of("[ABC2-7] and [ABC2-7] again"), ["ABC2-7"]);
    for text in ["cs-214", "C-1", "X-CS-1", "CS-0", "CS-", "CS-12a", "VERYLONGPREFIX-1"] {
        assert_eq!(of(text), [] as [&str; 0], "{text}");
    }
}

#[test]
fn number_of_tasks_is_limited() {
    let many: Vec<_> = (1..50).map(|n| format!("CS-{n}")).collect();
    assert_eq!(of(&many.join(" ")).len(), TASKS);
}
