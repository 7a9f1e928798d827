//! Properties of the parser and of the application of patches.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use mc_patch::{Operation, Tolerance, apply, parse, render};
use proptest::prelude::*;

/// Runs git without the configuration of the machine.
fn git(directory: &Path, arguments: &[&str], input: &[u8]) -> (bool, Vec<u8>) {
    let mut child = Command::new("git")
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CEILING_DIRECTORIES", directory.parent().expect("a parent"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("git");
    // Git may stop before it has read everything.
    let _ = child.stdin.take().expect("an input").write_all(input);
    let output = child.wait_with_output().expect("git");
    (output.status.success(), output.stdout)
}

/// Few different lines, so that hunks fit at several places.
fn content() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "a",
        "b",
        "  a",
        "\tb",
        "",
        " ",
        "-- a",
        "++ b",
        "fn c() {",
        "}",
        "@@ -1 +1 @@",
        "d\r",
        "é",
    ]);
    (prop::collection::vec(line, 0..24), any::<bool>()).prop_map(|(lines, is_complete)| {
        let text = lines.join("\n");
        if is_complete && !text.is_empty() { text + "\n" } else { text }
    })
}

/// Returns what `git diff` says about two contents.
fn diff(directory: &Path, before: &str, after: &str) -> Vec<u8> {
    for (name, content) in [("before", before), ("after", after)] {
        std::fs::write(directory.join(name), content).expect("a file");
    }
    let arguments = ["diff", "--no-index", "--no-color", "before", "after"];
    let diff = git(directory, &arguments, b"").1;
    let text = String::from_utf8(diff).expect("UTF-8");
    let text = text.replacen("a/before b/after", "a/x b/x", 1);
    text.replacen("--- a/before", "--- a/x", 1).replacen("+++ b/after", "+++ b/x", 1).into_bytes()
}

/// Returns what `git apply` makes of a file.
fn applied_by_git(directory: &Path, before: &str, diff: &[u8]) -> Option<Vec<u8>> {
    let file = directory.join("x");
    std::fs::write(&file, before).expect("a file");
    let is_applied = git(directory, &["apply", "--whitespace=nowarn", "-"], diff).0;
    is_applied.then(|| std::fs::read(&file).expect("a file"))
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

proptest! {
    #![proptest_config(cases(192))]

    #[test]
    fn diff_of_two_files_makes_one_the_other(before in content(), after in content()) {
        prop_assume!(before != after);
        let directory = directory();
        let diff = diff(directory.path(), &before, &after);
        let patch = parse(&diff).expect("a diff");
        prop_assert_eq!(patch.files.len(), 1);
        let file = &patch.files[0];
        let applied = apply(file, Some(before.as_bytes()), Tolerance::Exact).expect("applied");
        prop_assert_eq!(applied.content.as_deref(), Some(after.as_bytes()));
        let clean = render(file, Some(before.as_bytes()), &applied);
        let of_git = applied_by_git(directory.path(), &before, &clean);
        prop_assert_eq!(of_git, Some(after.into_bytes()));
    }

    /// One byte of a diff, or the file below it, is changed.
    #[test]
    fn what_applies_exactly_is_what_git_makes(
        before in content(),
        after in content(),
        other in content(),
        change in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
    ) {
        prop_assume!(before != after);
        let directory = directory();
        let mut diff = diff(directory.path(), &before, &after);
        let target = if let Some((index, byte)) = change {
            let index = index.index(diff.len());
            diff[index] = byte;
            before
        } else {
            other
        };
        let Ok(patch) = parse(&diff) else { return Ok(()) };
        let [file] = &patch.files[..] else { return Ok(()) };
        if file.path != "x" || file.operation != Operation::Modify {
            return Ok(());
        }
        let ours = apply(file, Some(target.as_bytes()), Tolerance::Exact);
        let of_git = applied_by_git(directory.path(), &target, &diff);
        if let (Ok(ours), Some(of_git)) = (ours, of_git) {
            prop_assert_eq!(ours.content, Some(of_git));
        }
    }
}

proptest! {
    #![proptest_config(cases(2_048))]

    #[test]
    fn no_text_makes_the_parser_panic(text in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = parse(&text);
    }

    #[test]
    fn no_lines_of_patches_make_anything_panic(
        lines in prop::collection::vec(
            prop::sample::select(vec![
                "diff --git a/x b/x", "diff --git \"a/\\1\" b/x", "--- a/x", "+++ b/x",
                "--- /dev/null", "+++ /dev/null", "@@ -1,3 +1,3 @@", "@@ -0,0 +1 @@", "@@", "@@ \
                    fn a",
                "@@ -18446744073709551615,1 +1,9 @@", " a", "-a", "+a", "", "\\ No newline at end \
                    of file",
                "new file mode 100755", "rename from x", "rename to y", "GIT binary patch", "x.rs",
                "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "a", "-- ",
            ]),
            0..40,
        ),
        content in content(),
    ) {
        let Ok(patch) = parse(lines.join("\n").as_bytes()) else { return Ok(()) };
        for file in &patch.files {
            for before in [None, Some(content.as_bytes())] {
                let Ok(applied) = apply(file, before, Tolerance::Tolerant) else { continue };
                let clean = render(file, before, &applied);
                if applied.replacements.is_empty() {
                    continue;
                }
                let again = parse(&clean).expect("a clean diff");
                let repeated = apply(&again.files[0], before, Tolerance::Exact).expect("applied");
                prop_assert_eq!(repeated.content, applied.content);
            }
        }
    }
}
