//! Runs the session of `docs/first-week.md`: every command with its input, and compares the output.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use regex::Regex;

use crate::harness::{Service, binary};
use crate::integrations::service_with_tracker;
use crate::repository;

/// A command of the session.
#[derive(Debug, Default)]
struct Step {
    /// The machine at which it is typed, as the code block names it; empty for the service's own.
    machine: String,
    command: String,
    input: String,
    expected: Vec<String>,
    /// A part of the error with which the command fails.
    error: Option<String>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_of_the_first_week_runs_as_written() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/first-week.md");
    let steps = steps(&std::fs::read_to_string(page).unwrap());
    assert!(steps.len() > 25, "{}", steps.len());
    let directory = tempfile::tempdir().unwrap();
    let service = service_with_tracker(directory.path()).await;
    let work = service.data_dir.parent().unwrap().join("work");
    create_repositories(&work.join("repos"));
    let mut words = BTreeMap::new();
    for step in steps {
        let command = filled(&step.command, &words);
        let output = run(&service, &work, &step, &command, &filled(&step.input, &words));
        match &step.error {
            Some(error) => assert!(output.contains(error), "$ {command}\n{output}"),
            None => compare(&command, &step.expected, &output, &mut words),
        }
    }
}

/// Reads the commands of the code blocks of a page.
fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut machine = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), &machine) {
            (Some(info), None) => machine = info.strip_prefix("console").map(str::trim),
            (Some(_), Some(_)) => machine = None,
            (None, Some(name)) => add(&mut steps, name, line),
            (None, None) => {}
        }
    }
    steps
}

fn add(steps: &mut Vec<Step>, machine: &str, line: &str) {
    if let Some(command) = line.strip_prefix("$ ") {
        let (machine, command) = (machine.to_owned(), command.to_owned());
        steps.push(Step { machine, command, ..Step::default() });
        return;
    }
    let step = steps.last_mut().expect("a block begins with a command");
    if let Some(input) = line.strip_prefix("< ") {
        step.input = format!("{input}\n");
    } else if let Some(error) = line.strip_prefix("! ") {
        step.error = Some(error.to_owned());
    } else {
        step.expected.push(line.to_owned());
    }
}

/// Runs a command in a shell, and returns what it prints.
fn run(service: &Service, work: &Path, step: &Step, typed: &str, input: &str) -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    let program = binary().parent().unwrap().to_str().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", typed]).current_dir(work);
    command.env_remove("DATABASE_URL").env_remove("MEMORY_COPILOT_PROJECT");
    command.envs(service.environment().iter().map(|(name, value)| (name, value)));
    command.env("PATH", format!("{program}:{path}"));
    let at = |name: &str| work.join(format!("{}-{name}", step.machine));
    command.env("MEMORY_COPILOT__CLIENT__CREDENTIALS_FILE", at("credentials.json"));
    match step.machine.as_str() {
        "" => {}
        "new-machine" => {
            let key = service.data_dir.join("encryption.key");
            command.env("MEMORY_COPILOT__DATA_DIR", work.join("restored"));
            command.env("MEMORY_COPILOT__ENCRYPTION__KEY_FILE", key);
        }
        // Has no local token of the service.
        _ => {
            command.env("MEMORY_COPILOT__DATA_DIR", at("data"));
            command.env("MEMORY_COPILOT__CLIENT__URL", &service.url);
        }
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!(output.status.success(), step.error.is_none(), "$ {typed}\n{out}{err}");
    if step.error.is_some() { err } else { out }
}

/// Compares an output with the expected one, and takes over the words that it names.
fn compare(command: &str, expected: &[String], output: &str, words: &mut BTreeMap<String, String>) {
    let pattern = Regex::new(&pattern(expected, words)).unwrap();
    let output = format!("\n{}\n", plain(output));
    let Some(found) = pattern.captures(&output) else {
        panic!("$ {command}\nexpected:\n{}\nfound:\n{output}", expected.join("\n"))
    };
    for name in pattern.capture_names().flatten() {
        words.insert(name.to_owned(), found[name].to_owned());
    }
}

/// Joins the white space in each line, since columns are as wide as their content.
fn plain(text: &str) -> String {
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

fn pattern(expected: &[String], words: &BTreeMap<String, String>) -> String {
    let word = Regex::new(r"\\\{([a-z_]+)\\\}").unwrap();
    let escaped = regex::escape(&plain(&expected.join("\n")));
    // Lines of the output that the page leaves out, or a part of a line.
    let escaped = format!("\n{escaped}\n").replace("\n\\.\\.\\.\n", "\n(?:.*\n)*?");
    let escaped = escaped.replace(r"\.\.\.", ".*");
    let mut seen = Vec::new();
    let filled = word.replace_all(&escaped, |found: &regex::Captures<'_>| {
        let name = found[1].to_owned();
        match words.get(&name) {
            Some(value) => regex::escape(value),
            None if seen.contains(&name) => r"\S+".to_owned(),
            None => {
                seen.push(name.clone());
                format!(r"(?P<{name}>\S+)")
            }
        }
    });
    format!("^{filled}$")
}

fn filled(text: &str, words: &BTreeMap<String, String>) -> String {
    words
        .iter()
        .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

fn create_repositories(directory: &Path) -> PathBuf {
    std::fs::create_dir_all(directory).unwrap();
    for parent in [directory, directory.parent().unwrap()] {
        std::fs::set_permissions(parent, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let shop = repository::cart_sessions(directory);
    let lab = directory.join("lab");
    repository::write(&lab, "trial.py", "def trial():\n    return 1\n");
    repository::write(&lab, "fixtures/rows.py", "ROWS = [1, 2]\n");
    shop
}
