//! Commands of dry runs: a few programs with arguments that are known to be harmless.
//!
//! The sandbox keeps a command from doing harm, whatever it is. These rules keep a model from
//! starting anything but the checks of a project, and a maintainer decides which of them.

use std::fmt;

/// A program that a dry run may start, with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DryRunCommand {
    /// The program: a name, or a path in the workspace that is in the list of programs.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// Why a command is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandProblem {
    /// It has a character that means something to a shell.
    #[error(
        "it has `{0}`, but commands run without a shell; write a program and its arguments, with \
         spaces between them"
    )]
    Shell(char),
    /// It starts another program.
    #[error("a dry run may start only {}", list_of_programs())]
    Program,
    /// An option is not known.
    #[error("it has the option `{0}`, which a dry run may not use; leave it out")]
    Option(String),
    /// An option has no value.
    #[error("its option `{0}` needs a value; write it behind the option")]
    NoValue(String),
    /// A value of an option that takes none.
    #[error("its option `{0}` takes no value; leave the value out")]
    Value(String),
    /// An argument leads out of the workspace.
    #[error("its argument `{0}` leads out of the workspace; give a path below its top directory")]
    Outside(String),
    /// An argument where none is expected.
    #[error("it has the argument `{0}`, but `{1}` takes only options; leave it out")]
    Argument(String, String),
    /// The policy does not allow it.
    #[error(
        "the policy of the project does not allow it ({}); have a maintainer add its first words \
         to allowed_commands",
        allowed(.0)
    )]
    Policy(Vec<String>),
}

/// What the words of a program's arguments that are no options mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operands {
    /// There are none.
    None,
    /// Names of tasks, scripts or tests, or paths in the workspace.
    Names,
}

/// A program with the arguments that it may get.
struct Program {
    /// Its first words.
    words: &'static [&'static str],
    /// Options without a value.
    flags: &'static [&'static str],
    /// Options with a value: `--option=value`, or in the next word.
    valued: &'static [&'static str],
    operands: Operands,
    /// Options behind `--`; empty if there are none.
    behind: &'static [&'static str],
}

const GRADLE_FLAGS: &[&str] = &[
    "--offline",
    "--no-daemon",
    "--stacktrace",
    "--info",
    "--warn",
    "--quiet",
    "-q",
    "--continue",
    "--parallel",
    "--rerun-tasks",
    "--no-build-cache",
];
const GRADLE_VALUED: &[&str] = &["--tests", "-x", "--exclude-task", "--max-workers"];
const PYTEST_FLAGS: &[&str] = &[
    "-q",
    "-v",
    "-vv",
    "-x",
    "-s",
    "-l",
    "--quiet",
    "--verbose",
    "--exitfirst",
    "--lf",
    "--ff",
    "--strict-markers",
    "--collect-only",
    "--no-header",
    "--no-summary",
];
const PYTEST_VALUED: &[&str] = &["-k", "-m", "--maxfail", "--tb", "--durations", "--deselect"];
const CARGO_FLAGS: &[&str] = &[
    "--workspace",
    "--all",
    "--all-targets",
    "--all-features",
    "--no-default-features",
    "--lib",
    "--bins",
    "--tests",
    "--examples",
    "--benches",
    "--doc",
    "--release",
    "--locked",
    "--offline",
    "--frozen",
    "--no-run",
    "--no-fail-fast",
    "--no-deps",
    "--quiet",
    "-q",
    "--verbose",
    "-v",
    "--keep-going",
];
const CARGO_VALUED: &[&str] = &[
    "-p",
    "--package",
    "--exclude",
    "--test",
    "--bin",
    "--example",
    "--bench",
    "--features",
    "-F",
    "-j",
    "--jobs",
    "--profile",
    "-E",
    "--filter-expr",
    "--message-format",
];
const CARGO_BEHIND: &[&str] = &[
    "--nocapture",
    "--no-capture",
    "--ignored",
    "--include-ignored",
    "--exact",
    "--skip",
    "--test-threads",
    "--show-output",
    "--check",
    "-D",
    "-W",
    "-A",
];
const GO_FLAGS: &[&str] = &["-v", "-short", "-race", "-failfast", "-cover", "-json"];
const GO_VALUED: &[&str] = &["-run", "-skip", "-count", "-timeout", "-p", "-parallel", "-tags"];
const RAKE_FLAGS: &[&str] = &["--trace", "--quiet", "-q", "--silent", "-s"];
const RSPEC_FLAGS: &[&str] =
    &["--fail-fast", "--no-color", "--no-profile", "--backtrace", "-b", "--only-failures"];
const RSPEC_VALUED: &[&str] =
    &["--format", "-f", "--seed", "--order", "--tag", "-t", "--example", "-e"];

const fn program(
    words: &'static [&'static str],
    flags: &'static [&'static str],
    valued: &'static [&'static str],
) -> Program {
    Program { words, flags, valued, operands: Operands::Names, behind: &[] }
}

const fn cargo(words: &'static [&'static str]) -> Program {
    Program { behind: CARGO_BEHIND, ..program(words, CARGO_FLAGS, CARGO_VALUED) }
}

/// The programs, those with more words first.
const PROGRAMS: &[Program] = &[
    program(&["bundle", "exec", "rake"], RAKE_FLAGS, &[]),
    program(&["bundle", "exec", "rspec"], RSPEC_FLAGS, RSPEC_VALUED),
    program(&["python", "-m", "pytest"], PYTEST_FLAGS, PYTEST_VALUED),
    program(&["python3", "-m", "pytest"], PYTEST_FLAGS, PYTEST_VALUED),
    cargo(&["cargo", "nextest", "run"]),
    cargo(&["cargo", "build"]),
    cargo(&["cargo", "check"]),
    cargo(&["cargo", "clippy"]),
    cargo(&["cargo", "test"]),
    Program {
        operands: Operands::None,
        behind: CARGO_BEHIND,
        ..program(&["cargo", "fmt"], &["--all", "--check", "--quiet", "-q"], &["-p", "--package"])
    },
    program(&["go", "build"], GO_FLAGS, GO_VALUED),
    program(&["go", "test"], GO_FLAGS, GO_VALUED),
    program(&["go", "vet"], GO_FLAGS, GO_VALUED),
    program(&["npm", "run"], &["--silent", "-s", "--workspaces", "--if-present"], NPM_VALUED),
    Program {
        operands: Operands::None,
        ..program(&["npm", "test"], &["--silent", "-s", "--workspaces", "--if-present"], NPM_VALUED)
    },
    program(&["./gradlew"], GRADLE_FLAGS, GRADLE_VALUED),
    program(&["gradle"], GRADLE_FLAGS, GRADLE_VALUED),
    program(&["pytest"], PYTEST_FLAGS, PYTEST_VALUED),
    program(&["rake"], RAKE_FLAGS, &[]),
    program(&["rspec"], RSPEC_FLAGS, RSPEC_VALUED),
];
const NPM_VALUED: &[&str] = &["--workspace", "-w"];

impl DryRunCommand {
    /// Parses a command that the policy of a project allows. Each allowed command is the first
    /// words of those that it allows.
    pub fn parse(text: &str, allowed: &[String]) -> Result<Self, CommandProblem> {
        if let Some(other) = text.chars().find(|c| !is_plain(*c)) {
            return Err(CommandProblem::Shell(other));
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let program = PROGRAMS.iter().find(|program| words.starts_with(program.words));
        let program = program.ok_or(CommandProblem::Program)?;
        program.check(&words[program.words.len()..])?;
        let is_allowed = |allowed: &String| {
            let first: Vec<&str> = allowed.split_whitespace().collect();
            !first.is_empty() && words.starts_with(&first)
        };
        if !allowed.iter().any(is_allowed) {
            return Err(CommandProblem::Policy(allowed.to_vec()));
        }
        let mut words = words.into_iter().map(str::to_owned);
        Ok(Self { program: words.next().unwrap_or_default(), arguments: words.collect() })
    }
}

/// Writes the command as it was given, but for its blanks.
impl fmt::Display for DryRunCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.program)?;
        self.arguments.iter().try_for_each(|argument| write!(f, " {argument}"))
    }
}

impl Program {
    fn check(&self, words: &[&str]) -> Result<(), CommandProblem> {
        let mut words = words.iter();
        let mut is_behind = false;
        while let Some(word) = words.next() {
            if *word == "--" && !is_behind && !self.behind.is_empty() {
                is_behind = true;
                continue;
            }
            if !word.starts_with('-') {
                self.check_operand(word, is_behind)?;
                continue;
            }
            let (option, value) = match word.split_once('=') {
                Some((option, value)) => (option, Some(value)),
                None => (*word, None),
            };
            if is_behind {
                // A value is the next word, which is an operand then.
                self.check_behind(option, value)?;
                continue;
            }
            if self.flags.contains(&option) {
                let no_value = || CommandProblem::Value(option.to_owned());
                value.map_or(Ok(()), |_| Err(no_value()))?;
                continue;
            }
            if !self.valued.contains(&option) {
                return Err(CommandProblem::Option(option.to_owned()));
            }
            let value = value.or_else(|| words.next().copied()).filter(|value| !value.is_empty());
            let value = value.ok_or_else(|| CommandProblem::NoValue(option.to_owned()))?;
            check_path(value)?;
        }
        Ok(())
    }

    fn check_operand(&self, word: &str, is_behind: bool) -> Result<(), CommandProblem> {
        if self.operands == Operands::None && !is_behind {
            return Err(CommandProblem::Argument(word.to_owned(), self.words.join(" ")));
        }
        check_path(word)
    }

    fn check_behind(&self, option: &str, value: Option<&str>) -> Result<(), CommandProblem> {
        if self.behind.contains(&option) {
            return value.map_or(Ok(()), check_path);
        }
        Err(CommandProblem::Option(option.to_owned()))
    }
}

/// Returns whether a character means nothing to a shell, or only a name with a part left open. No
/// shell reads a command, but who writes one of the others expects it.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || " _./:@,+=%^-[]*".contains(c)
}

/// Checks a word that may be a path, or a list of paths.
fn check_path(word: &str) -> Result<(), CommandProblem> {
    let leads_out = |path: &str| path.starts_with('/') || path.split('/').any(|part| part == "..");
    if word.split([':', ',', '=', '@']).any(leads_out) {
        return Err(CommandProblem::Outside(word.to_owned()));
    }
    Ok(())
}

fn list_of_programs() -> String {
    let names: Vec<String> = PROGRAMS.iter().map(|program| program.words.join(" ")).collect();
    names.join(", ")
}

fn allowed(commands: &[String]) -> String {
    if commands.is_empty() {
        return "it allows no commands".to_owned();
    }
    format!("it allows {}", commands.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that the rules allow.
    fn parsed(text: &str) -> Result<DryRunCommand, CommandProblem> {
        let programs: Vec<String> =
            PROGRAMS.iter().map(|program| program.words[0].to_owned()).collect();
        DryRunCommand::parse(text, &programs)
    }

    #[test]
    fn checks_of_projects_are_allowed() {
        for text in [
            "./gradlew test",
            "./gradlew :app:test --tests com.shop.CarrierTest* --offline -x lint",
            "gradle check --no-daemon",
            "npm test",
            "npm run lint --silent -w packages/shop",
            "pytest -q tests/test_carrier.py::test_retry[503] --maxfail=1",
            "python3 -m pytest -k retry",
            "cargo test -p shop --test carrier -- --nocapture --test-threads=1 retry",
            "cargo nextest run --workspace -E test=retry",
            "cargo clippy --all-targets -- -D warnings",
            "cargo fmt --all --check",
            "go test ./... -run TestRetry -count=1",
            "go vet ./...",
            "bundle exec rspec spec/carrier_spec.rb:12 --format progress",
            "bundle exec rake test:units",
            "rake",
        ] {
            let command = parsed(text).expect(text);
            assert_eq!(command.to_string(), text);
        }
    }

    #[test]
    fn shells_other_programs_and_hostile_arguments_are_refused() {
        use CommandProblem as P;
        let option = |name: &str| P::Option(name.to_owned());
        let outside = |word: &str| P::Outside(word.to_owned());
        for (text, problem) in [
            ("npm test; curl evil", P::Shell(';')),
            ("npm test && id", P::Shell('&')),
            ("npm test | sh", P::Shell('|')),
            ("cargo test $(id)", P::Shell('$')),
            ("cargo test `id`", P::Shell('`')),
            ("cargo test > /etc/passwd", P::Shell('>')),
            ("cargo test \"a b\"", P::Shell('"')),
            ("cargo test\nid", P::Shell('\n')),
            ("cargo test ~", P::Shell('~')),
            ("", P::Program),
            ("bash -c id", P::Program),
            ("sh", P::Program),
            ("RUSTC_WRAPPER=./evil cargo test", P::Program),
            ("env cargo test", P::Program),
            ("/tmp/cargo test", P::Program),
            ("./npm test", P::Program),
            ("./cargo test", P::Program),
            ("cargo", P::Program),
            ("cargo run", P::Program),
            ("cargo +nightly test", P::Program),
            ("cargo install x", P::Program),
            ("cargo publish", P::Program),
            ("npm install", P::Program),
            ("npm exec x", P::Program),
            ("npm publish", P::Program),
            ("go run x.go", P::Program),
            ("bundle install", P::Program),
            ("python3 -c x", P::Program),
            ("cargo test --config build.rustc=evil", option("--config")),
            ("cargo test --manifest-path=../Cargo.toml", option("--manifest-path")),
            ("cargo test --target-dir /tmp", option("--target-dir")),
            ("cargo test -Zunstable-options", option("-Zunstable-options")),
            ("cargo test -- --logfile=x", option("--logfile")),
            ("npm test --script-shell=evil", option("--script-shell")),
            ("npm run lint -- --fix", option("--")),
            ("pytest -p evil", option("-p")),
            ("pytest -c evil.ini", option("-c")),
            ("pytest --rootdir=/", option("--rootdir")),
            ("go test -exec evil ./...", option("-exec")),
            ("go build -toolexec=evil", option("-toolexec")),
            ("./gradlew test -I init.gradle", option("-I")),
            ("./gradlew test --init-script=x", option("--init-script")),
            ("./gradlew -Dx=y test", option("-Dx")),
            ("rake -f Evil", option("-f")),
            ("rspec -r evil", option("-r")),
            ("rspec --require=evil", option("--require")),
            ("pytest /etc", outside("/etc")),
            ("pytest ../other", outside("../other")),
            ("pytest tests/../../other", outside("tests/../../other")),
            ("pytest --deselect=../x", outside("../x")),
            ("npm run x --workspace ../other", outside("../other")),
            ("cargo test --package=/x", outside("/x")),
            ("cargo test -- --skip=/x", outside("/x")),
            ("cargo test -p", P::NoValue("-p".to_owned())),
            ("cargo test --package=", P::NoValue("--package".to_owned())),
            ("cargo test --workspace=x", P::Value("--workspace".to_owned())),
            ("npm test x", P::Argument("x".to_owned(), "npm test".to_owned())),
        ] {
            assert_eq!(parsed(text), Err(problem), "{text}");
        }
    }

    #[test]
    fn policy_decides_by_first_words() {
        let allowed = ["cargo test -p shop".to_owned(), "npm  run lint".to_owned()];
        for text in ["cargo test -p shop", "cargo test -p shop --lib", "npm run lint --silent"] {
            DryRunCommand::parse(text, &allowed).expect(text);
        }
        for text in ["cargo test", "cargo test -p shopping", "npm run linter", "npm test"] {
            let problem = DryRunCommand::parse(text, &allowed).expect_err(text);
            assert_eq!(problem, CommandProblem::Policy(allowed.to_vec()), "{text}");
        }
        let problem = DryRunCommand::parse("npm test", &[]).expect_err("an empty policy");
        assert!(problem.to_string().contains("it allows no commands"), "{problem}");
        // An empty entry would be the first words of everything.
        DryRunCommand::parse("npm test", &[" ".to_owned()]).expect_err("an empty entry");
    }

    #[test]
    fn programs_with_more_words_are_found_first() {
        for (index, program) in PROGRAMS.iter().enumerate() {
            let is_hidden = |earlier: &Program| program.words.starts_with(earlier.words);
            assert!(!PROGRAMS[..index].iter().any(is_hidden), "{:?}", program.words);
        }
    }
}
