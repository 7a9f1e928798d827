//! Changes that deserve a second look, by rules over paths and lines.

use std::collections::HashSet;

use mc_domain::{Severity, code_path};
use mc_patch::{FilePatch, HunkLine, LineKind, Operation, Patch};
use mc_sanitizer::visible_text::{InvisibleKind, invisible_kind};
use mc_sanitizer::{Class, Policy};

/// Kind of a risk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RiskKind {
    /// Changes the schema or the data of a database.
    Migration,
    /// Changes what runs in continuous integration, with its credentials.
    Ci,
    /// Adds, removes or updates dependencies.
    Dependencies,
    /// Changes the pinned versions of dependencies.
    LockFile,
    /// Removes tests.
    DeletedTest,
    /// Changes how the program is built or installed.
    Build,
    /// Changes a file that usually has credentials.
    Credentials,
    /// Creates a file that may be executed.
    Executable,
    /// Adds characters that are not shown, or that change the order in which text is shown.
    HiddenText,
    /// Changes who must review.
    Owners,
    /// Adds a text that looks like a secret.
    Secret,
}

impl RiskKind {
    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Migration => "migration",
            Self::Ci => "ci",
            Self::Dependencies => "dependencies",
            Self::LockFile => "lock_file",
            Self::DeletedTest => "deleted_test",
            Self::Build => "build",
            Self::Credentials => "credentials",
            Self::Executable => "executable",
            Self::HiddenText => "hidden_text",
            Self::Owners => "owners",
            Self::Secret => "secret",
        }
    }

    /// Returns what the change does, for people.
    pub fn message(self) -> &'static str {
        match self {
            Self::Migration => "changes the schema or the data of a database",
            Self::Ci => "changes what runs in continuous integration, with its credentials",
            Self::Dependencies => "changes dependencies",
            Self::LockFile => "changes the pinned versions of dependencies",
            Self::DeletedTest => "removes tests",
            Self::Build => "changes how the program is built or installed",
            Self::Credentials => "changes a file that usually has credentials",
            Self::Executable => "creates a file that may be executed",
            Self::HiddenText => "adds characters that are invisible or reorder the text",
            Self::Owners => "changes who must review",
            Self::Secret => "adds a text that looks like a secret; remove it",
        }
    }
}

impl RiskKind {
    /// Returns how severe a risk of this kind is.
    pub fn severity(self) -> Severity {
        match self {
            Self::Secret => Severity::Critical,
            Self::Migration
            | Self::Ci
            | Self::DeletedTest
            | Self::Credentials
            | Self::HiddenText
            | Self::Owners => Severity::High,
            Self::Dependencies | Self::Build | Self::Executable => Severity::Medium,
            Self::LockFile => Severity::Low,
        }
    }
}

/// Risks that a path alone shows.
const OF_PATHS: [RiskKind; 7] = [
    RiskKind::Migration,
    RiskKind::Ci,
    RiskKind::Dependencies,
    RiskKind::LockFile,
    RiskKind::Build,
    RiskKind::Credentials,
    RiskKind::Owners,
];

/// A risk of a patch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Risk {
    /// File.
    pub path: String,
    /// Kind.
    pub kind: RiskKind,
}

const CI_DIRECTORIES: &str = ".github/workflows/ .github/actions/ .gitea/workflows/ \
    .forgejo/workflows/ .gitlab/ci/ .circleci/ .buildkite/ .woodpecker/";
const CI_FILES: &str = ".drone.yml .gitlab-ci.yml .travis.yml action.yml appveyor.yml \
    azure-pipelines.yaml azure-pipelines.yml bitbucket-pipelines.yml jenkinsfile";
const DEPENDENCY_FILES: &str = "build.gradle build.gradle.kts cargo.toml composer.json gemfile \
    go.mod libs.versions.toml package.json packages.config pipfile pom.xml pyproject.toml \
    setup.cfg setup.py";
const LOCK_FILES: &str = "bun.lock cargo.lock composer.lock gemfile.lock go.sum gradle.lockfile \
    npm-shrinkwrap.json package-lock.json pipfile.lock pnpm-lock.yaml poetry.lock uv.lock \
    yarn.lock";
/// Files and directories of programs that run on the machine of a developer.
const BUILD_FILES: &str = ".gitattributes .gitmodules .pre-commit-config.yaml build.rs \
    cmakelists.txt compose.yaml compose.yml configure containerfile docker-compose.yaml \
    docker-compose.yml dockerfile gradlew justfile makefile package.swift rakefile \
    settings.gradle settings.gradle.kts tox.ini";
const BUILD_DIRECTORIES: &str = ".cargo .devcontainer .githooks .husky .vscode gradle";
const CREDENTIAL_FILES: &str = ".env .git-credentials .netrc .npmrc .pgpass .pypirc credentials \
    id_ecdsa id_ed25519 id_rsa";
const MIGRATION_DIRECTORIES: &str = "migrate migration migrations";
/// Starts of lines that declare a test, in several languages and in lower case.
const TEST_STARTS: [&str; 16] = [
    "#[test]",
    "#[tokio::test",
    "#[rstest",
    "#[sqlx::test",
    "@test",
    "@parameterizedtest",
    "[fact",
    "[theory",
    "[test]",
    "def test_",
    "async def test_",
    "it(",
    "it \"",
    "it '",
    "test(",
    "test_f(",
];
/// Starts of lines that turn a test off.
const SKIP_STARTS: [&str; 8] = [
    "#[ignore",
    "@disabled",
    "@ignore",
    "@pytest.mark.skip",
    "@unittest.skip",
    "it.skip(",
    "test.skip(",
    "xit(",
];

/// Returns the risks of a patch, sorted, each once.
pub fn risks(patch: &Patch) -> Vec<Risk> {
    let mut risks: Vec<Risk> = patch.files.iter().flat_map(of_file).collect();
    risks.sort();
    risks.dedup();
    risks
}

fn of_file(file: &FilePatch) -> Vec<Risk> {
    let paths = [Some(&file.path), file.source.as_ref()].into_iter().flatten();
    let mut kinds: Vec<RiskKind> = paths.flat_map(|path| of_path(&path.to_lowercase())).collect();
    let is_hidden_in = |line: &HunkLine| String::from_utf8_lossy(&line.text).contains(is_hidden);
    let has_hidden_text =
        file.path.contains(is_hidden) || lines(file, LineKind::Added).any(is_hidden_in);
    let of_lines = [
        (removes_tests(file), RiskKind::DeletedTest),
        (file.is_executable, RiskKind::Executable),
        (has_hidden_text, RiskKind::HiddenText),
        (adds_secret(file), RiskKind::Secret),
    ];
    kinds.extend(of_lines.into_iter().filter_map(|(applies, kind)| applies.then_some(kind)));
    kinds.into_iter().map(|kind| Risk { path: file.path.clone(), kind }).collect()
}

/// Returns the risks of a path in lower case.
fn of_path(path: &str) -> Vec<RiskKind> {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_one_of = |names: &str| names.split_whitespace().any(|known| known == name);
    let has_extension = |extensions: &str| {
        let extension = name.rsplit_once('.').map(|(_, extension)| extension);
        extension.is_some_and(|own| extensions.split_whitespace().any(|known| known == own))
    };
    let is_ci = CI_DIRECTORIES.split_whitespace().any(|start| path.starts_with(start));
    let is_requirements = name.starts_with("requirements") && has_extension("txt in");
    let applies = |kind: &RiskKind| match kind {
        RiskKind::Ci => is_ci || is_one_of(CI_FILES),
        RiskKind::Dependencies => {
            is_requirements || is_one_of(DEPENDENCY_FILES) || has_extension("gemspec csproj fsproj")
        }
        RiskKind::LockFile => is_one_of(LOCK_FILES),
        RiskKind::Build => {
            is_one_of(BUILD_FILES)
                || name.starts_with("dockerfile.")
                || has_extension("mk cmake")
                || has_directory(directory, BUILD_DIRECTORIES)
        }
        RiskKind::Migration => {
            has_extension("sql") || has_directory(directory, MIGRATION_DIRECTORIES)
        }
        RiskKind::Credentials => {
            is_one_of(CREDENTIAL_FILES)
                || name.starts_with(".env.")
                || has_extension("key pem p12 pfx jks keystore")
        }
        RiskKind::Owners => name == "codeowners",
        RiskKind::DeletedTest | RiskKind::Executable | RiskKind::HiddenText | RiskKind::Secret => {
            false
        }
    };
    OF_PATHS.into_iter().filter(applies).collect()
}

fn has_directory(path: &str, names: &str) -> bool {
    path.split('/').any(|part| names.split_whitespace().any(|name| name == part))
}

/// Returns whether tests are deleted, moved to where they are not run, or turned off.
fn removes_tests(file: &FilePatch) -> bool {
    let old = file.old_path().unwrap_or_default().to_lowercase();
    let is_deleted = match file.operation {
        Operation::Delete => true,
        Operation::Rename => !code_path::is_test(&file.path.to_lowercase()),
        _ => false,
    };
    let count = |kind, is_counted: fn(&HunkLine) -> bool| {
        lines(file, kind).filter(|line| is_counted(line)).count()
    };
    let [removed, added] = [LineKind::Removed, LineKind::Added];
    is_deleted && code_path::is_test(&old)
        || count(removed, declares_test) > count(added, declares_test)
        || count(added, skips_test) > count(removed, skips_test)
}

fn starts_with(line: &HunkLine, starts: &[&str]) -> bool {
    let line = String::from_utf8_lossy(&line.text).trim_start().to_lowercase();
    starts.iter().any(|start| line.starts_with(start))
}

fn declares_test(line: &HunkLine) -> bool {
    let text = String::from_utf8_lossy(&line.text);
    // In Go, the name goes on with a capital letter.
    let go = text.trim_start().strip_prefix("func Test");
    let is_go = go.and_then(|rest| rest.chars().next()).is_some_and(|c| !c.is_lowercase());
    is_go || starts_with(line, &TEST_STARTS)
}

fn skips_test(line: &HunkLine) -> bool {
    starts_with(line, &SKIP_STARTS)
}

/// Returns whether the added lines of a file have a secret that its removed lines don't have.
fn adds_secret(file: &FilePatch) -> bool {
    let secrets = |kind| {
        let text: Vec<&[u8]> = lines(file, kind).map(|line| &line.text[..]).collect();
        let text = text.concat();
        let text = String::from_utf8_lossy(&text);
        let found = mc_sanitizer::find(&text, &Policy::strict()).into_iter();
        let found = found.filter(|finding| finding.class == Class::Secret);
        found.filter_map(|finding| text.get(finding.span).map(str::to_owned)).collect()
    };
    let added: HashSet<String> = secrets(LineKind::Added);
    !added.is_subset(&secrets(LineKind::Removed))
}

fn lines(file: &FilePatch, kind: LineKind) -> impl Iterator<Item = &HunkLine> {
    let lines = file.hunks.iter().flat_map(|hunk| &hunk.lines);
    lines.filter(move |line| line.kind == kind)
}

/// Returns whether a character is invisible, or changes the direction of the text. Variants of
/// symbols, and the symbols of a font of its own, are common in source code.
fn is_hidden(c: char) -> bool {
    let kind = invisible_kind(c);
    kind.is_some_and(|kind| !matches!(kind, InvisibleKind::Selector | InvisibleKind::Private))
}

#[cfg(test)]
mod tests {
    use mc_patch::parse_diff;

    use super::*;

    fn kinds(diff: &str) -> Vec<&'static str> {
        let patch = parse_diff(diff.as_bytes()).expect("a diff");
        risks(&patch).into_iter().map(|risk| risk.kind.as_str()).collect()
    }

    #[test]
    fn risky_paths_and_lines_are_named() {
        let change = |path: &str| format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n");
        for (path, expected) in [
            ("src/cart.rs", &[][..]),
            ("db/migrate/1_add.rb", &["migration"]),
            (".github/workflows/ci.yml", &["ci"]),
            ("azure-pipelines.yml", &["ci"]),
            ("web/package.json", &["dependencies"]),
            ("requirements-dev.txt", &["dependencies"]),
            ("Cargo.lock", &["lock_file"]),
            ("Makefile", &["build"]),
            (".env.local", &["credentials"]),
            ("src/id_generator.rs", &[]),
            ("src/dockerfile_parser.rs", &[]),
            (".husky/pre-commit", &["build"]),
            (".github/CODEOWNERS", &["owners"]),
        ] {
            assert_eq!(kinds(&change(path)), expected, "{path}");
        }
        let test =
            "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,2 +1 @@\n-#[test]\n-fn a() {}\n+fn b() {}\n";
        assert_eq!(kinds(test), ["deleted_test"]);
        let deleted = "--- a/tests/a.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-fn a() {}\n";
        assert_eq!(kinds(deleted), ["deleted_test"]);
        let hidden = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+a\u{202e}b\n";
        assert_eq!(kinds(hidden), ["hidden_text"]);
        let script = "diff --git a/run b/run\nnew file mode 100755\n--- /dev/null\n+++ b/run\n\
            @@ -0,0 +1 @@\n+a\n";
        assert_eq!(kinds(script), ["executable"]);
    }
}
