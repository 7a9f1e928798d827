//! Parsers of text from outside: they run in child processes without privileges.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mc_parser_pool::{PROCESS_ARGUMENT, Parser, ParserPool, Program};
use mc_privileges::UnprivilegedUser;
use mc_testkit::runs_as_root;
use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde_json::{Value, json};

use crate::harness::{Service, binary, direct_client};
use crate::repository;

/// Maximum time to wait until a text is being parsed.
const TIMEOUT: Duration = Duration::from_mins(2);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum time of a stop on a machine under load. Open requests get ten seconds of it. A stop that
/// waited for a suspended parser would take a minute.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);
/// Processor time of a parser that only the large source file takes, in ticks of 10 ms.
const FILE_TICKS: u64 = 10;
/// Processor time of a thread that only documents take, in ticks of 10 ms.
const DOCUMENT_TICKS: u64 = 40;
/// Processor time that parsers and git together do not take if a slow source file is stopped early,
/// in ticks of 10 ms. The limit of any other parser is 1,000.
const SLOW_FILE_TICKS: u64 = 500;

#[tokio::test]
async fn parsers_run_in_processes_without_privileges() {
    let service = Service::embedded().await;
    let processes = parsers_of(&service);
    assert!(!processes.is_empty());
    for process in processes {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_else(|| panic!("{name} {status}")).split_whitespace().next().unwrap()
        };
        // 2: system calls are filtered.
        assert_eq!((field("Seccomp:"), field("NoNewPrivs:")), ("2", "1"));
        if geteuid().is_root() {
            assert_ne!(field("Uid:"), "0");
            assert_eq!(field("CapEff:").trim_matches('0'), "");
        }
    }
}

/// Bits of the capabilities that a service of root keeps: `CAP_CHOWN`, `CAP_DAC_OVERRIDE`,
/// `CAP_FOWNER`, `CAP_KILL`, `CAP_SETGID`, `CAP_SETUID`, `CAP_NET_BIND_SERVICE` and
/// `CAP_SYS_PTRACE`.
const KEPT_CAPABILITIES: u64 = 1 | 1 << 1 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 10 | 1 << 19;

/// A thread becomes root only for single calls of the system, so that data from outside is never
/// parsed as root. The thread of PostgreSQL stays root, and reads nothing from outside. A program
/// that root starts gets the capabilities of the bounding set, unless they were dropped for it.
#[tokio::test]
async fn threads_of_a_service_of_root_work_as_another_user() {
    if !runs_as_root("only root has privileges to lower") {
        return;
    }
    let service = Service::embedded().await;
    let mut has_postgresql = false;
    for thread in threads(&service) {
        let Some(status) = status_of_lowered(&thread) else { continue };
        let field = |name: &str| {
            let value = status.lines().find_map(|line| line.strip_prefix(name));
            value.unwrap_or_else(|| panic!("{name} {status}")).trim()
        };
        let is_postgresql = field("Name:") == "postgresql";
        has_postgresql |= is_postgresql;
        let UnprivilegedUser { uid, gid } = UnprivilegedUser::SERVICE;
        // Real, effective and saved id, and that for files.
        let ids = |id: u32| format!("{id}\t{id}\t0\t{id}");
        let expected = if is_postgresql { [0, 0] } else { [uid, gid] };
        assert_eq!([field("Uid:"), field("Gid:")], expected.map(ids), "{}", field("Name:"));
        assert_eq!(field("Groups:"), "", "{}", field("Name:"));
        for (set, allowed) in [
            ("CapInh:", 0),
            ("CapPrm:", KEPT_CAPABILITIES),
            ("CapEff:", if is_postgresql { KEPT_CAPABILITIES } else { 0 }),
            ("CapBnd:", KEPT_CAPABILITIES),
            ("CapAmb:", 0),
        ] {
            let has = u64::from_str_radix(field(set), 16).unwrap();
            assert_eq!(has & !allowed, 0, "{} {set} {has:x}", field("Name:"));
        }
    }
    assert!(has_postgresql, "the service runs the database");
}

/// Returns the status of a thread once it is not root, or of that of PostgreSQL; `None` if it has
/// ended. A moment in which it is root may take long on a busy machine.
fn status_of_lowered(thread: &Path) -> Option<String> {
    let started = Instant::now();
    loop {
        let status = fs::read_to_string(thread.join("status")).ok()?;
        if status.starts_with("Name:\tpostgresql\n") || !status.contains("\nUid:\t0\t") {
            return Some(status);
        }
        assert!(started.elapsed() < TIMEOUT, "a thread stays root: {status}");
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Declares parsers that convert a text, by their names in the program.
macro_rules! converters {
    ($($parser:ident $name:literal),+) => {
        $(struct $parser;
        impl Parser for $parser {
            const NAME: &'static str = $name;
            type Input<'a> = &'a str;
            type Output = String;
            fn max_output_bytes(_input_bytes: usize) -> usize {
                1024
            }
            fn parse(_: &str) -> String {
                unreachable!("it runs in a child process")
            }
        })+
    };
}

converters!(Confluence "confluence-storage", Jira "jira-adf");

/// Without its parser, a text is stored as a note or without its headings.
#[tokio::test]
async fn program_has_the_parsers_of_all_texts() {
    let pool = ParserPool::start(Program::new(binary(), &[PROCESS_ARGUMENT])).unwrap();
    assert_eq!(pool.call::<Confluence>("<h1>a</h1>").unwrap(), "# a");
    let text = json!({ "type": "text", "text": "a" });
    let document = json!({ "type": "doc", "content": [{ "type": "heading", "content": [text] }] });
    assert_eq!(pool.call::<Jira>(&document.to_string()).unwrap(), "# a");

    let service = Service::embedded().await;
    service.project("shop").await;
    let content = "---\ntags: [delays]\n---\n# Imports\n\n## Units\n\nThe delay is in minutes.\n";
    let document = json!({ "doc_id": "1", "title": "Imports", "content": content });
    let documents = json!({ "project_key": "shop", "source": "wiki", "documents": [document] });
    service.post("/ingest/docs", &documents).await;
    let request = json!({ "project_key": "shop", "query": "delay in minutes", "limit": 1 });
    let found = service.post("/search", &request).await;
    assert_eq!(found["results"][0]["title"], "Imports > Units", "{found}");
    assert_eq!(found["results"][0]["line_start"], 4, "front matter is no text: {found}");
}

/// A file is parsed by another process if one was killed, and its symbols are found.
#[tokio::test]
async fn killed_parsers_are_replaced() {
    let service = Service::embedded().await;
    service.project("shop").await;
    for process in parsers_of(&service) {
        kill_process(Pid::from_raw(process).unwrap(), Signal::KILL).unwrap();
    }
    let directory = tempfile::tempdir().unwrap();
    let shop = repository::cart_sessions(directory.path());
    service.index("shop", Path::new(&shop)).await;
    let request = json!({ "project_key": "shop", "query": "Order", "limit": 5 });
    let found = service.post("/search", &request).await;
    let results = found["results"].as_array().unwrap();
    let has_symbol =
        |result: &Value| result["symbols"].as_array().is_some_and(|all| !all.is_empty());
    assert!(results.iter().any(has_symbol), "{found}");
    assert!(!parsers_of(&service).is_empty());
}

/// A grammar takes seconds for this file. Its parser process is killed at the limit for the length,
/// well before it has taken the time that other parsers may.
#[tokio::test]
async fn code_that_is_slow_to_parse_is_stopped_early() {
    let service = Service::embedded().await;
    service.project("shop").await;
    let directory = tempfile::tempdir().unwrap();
    let shop = repository::cart_sessions(directory.path());
    repository::write(&shop, "lib/slow.py", &"a: |\n".repeat(13_000));
    repository::commit(&shop, "second");
    let before = ended_children_ticks(&service);
    service.index("shop", Path::new(&shop)).await;
    let log = service.log();
    let warning = "source file split by lines, without symbols";
    let is_logged = log.lines().any(|line| line.contains(warning) && line.contains("slow.py"));
    assert!(is_logged, "{log}");
    let taken = ended_children_ticks(&service) - before;
    assert!(taken < SLOW_FILE_TICKS, "git and the parsers that have ended took {taken} ticks");
}

/// Threads of the service mask documents of headings, and a parser process reads a source file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stop_does_not_wait_for_hostile_texts() {
    let mut service = Service::embedded().await;
    service.project("shop").await;
    let directory = tempfile::tempdir().unwrap();
    let shop = repository::cart_sessions(directory.path());
    repository::write(&shop, "lib/slow.c", &"a(\n".repeat(330_000));
    repository::commit(&shop, "second");

    let parsers = ProcessorTimes::of(parser_paths(&service));
    service.post("/ingest/git", &json!({ "project_key": "shop", "location": shop })).await;
    let parser = parsers.until_one_took(FILE_TICKS, || parser_paths(&service)).await;
    // It can't end its work before the service stops, however fast the machine is.
    let parser: i32 = parser.file_name().unwrap().to_str().unwrap().parse().unwrap();
    kill_process(Pid::from_raw(parser).unwrap(), Signal::STOP).unwrap();
    let threads = ProcessorTimes::of(runtime_threads(&service));
    let sending = tokio::spawn(send_headings_while_possible(&service));
    threads.until_one_took(DOCUMENT_TICKS, || runtime_threads(&service)).await;
    assert!(!sending.is_finished(), "{}", service.log());

    let started = Instant::now();
    assert!(service.stop().success(), "{}", service.log());
    let (elapsed, log) = (started.elapsed(), service.log());
    // Logged if a run is not over after the time that jobs get to complete.
    assert!(!log.contains("shutdown interrupted jobs"), "{log}");
    assert!(elapsed < STOP_TIMEOUT, "{elapsed:?}\n{log}");
}

/// Sends requests with 2 MiB of headings, one after the other, until the service rejects one. A
/// document may have half of them.
fn send_headings_while_possible(service: &Service) -> impl Future<Output = ()> + use<> {
    let content = "# a\n".repeat(200_000);
    let document = |id: &str| json!({ "doc_id": id, "title": "Headings", "content": content });
    let documents = ["1", "2"].map(document);
    let body = json!({ "project_key": "shop", "source": "wiki", "documents": documents });
    let request = direct_client().post(format!("{}/ingest/docs", service.url));
    let request = request.bearer_auth(service.token()).json(&body);
    async move {
        let sent = async || request.try_clone().expect("a body in memory").send().await;
        while sent().await.is_ok_and(|answer| answer.status().is_success()) {}
    }
}

/// Processor times of threads or processes at one moment.
struct ProcessorTimes(HashMap<PathBuf, u64>);

impl ProcessorTimes {
    fn of(paths: Vec<PathBuf>) -> Self {
        Self(paths.into_iter().filter_map(|path| Some((path.clone(), ticks(&path)?))).collect())
    }

    /// Waits until one of `paths` has computed for so many ticks since then. Returns its path.
    async fn until_one_took(&self, duration: u64, paths: impl Fn() -> Vec<PathBuf>) -> PathBuf {
        let started = Instant::now();
        loop {
            let mut candidates = paths().into_iter();
            if let Some(busy) = candidates.find(|path| self.since(path) >= duration) {
                return busy;
            }
            assert!(started.elapsed() < TIMEOUT, "no text is parsed");
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Returns the ticks since then.
    fn since(&self, path: &Path) -> u64 {
        let before = self.0.get(path).copied().unwrap_or_default();
        ticks(path).unwrap_or_default().saturating_sub(before)
    }
}

/// Returns the processor time of a thread or process, given by its directory in `/proc`; `None` if
/// it has ended.
fn ticks(path: &Path) -> Option<u64> {
    sum_of_fields(path, [11, 12])
}

/// Returns the processor time of the service's child processes that have ended.
fn ended_children_ticks(service: &Service) -> u64 {
    let path = format!("/proc/{}", service.process_id());
    sum_of_fields(Path::new(&path), [13, 14]).unwrap()
}

/// Returns the sum of two fields of `stat`, counted from the one after the name.
fn sum_of_fields(path: &Path, fields: [usize; 2]) -> Option<u64> {
    let stat = fs::read_to_string(path.join("stat")).ok()?;
    // The name before the parenthesis may have blanks.
    let all: Vec<_> = stat.rsplit_once(") ")?.1.split(' ').collect();
    fields.into_iter().map(|field| all[field].parse::<u64>().ok()).sum()
}

/// Returns the threads that run requests and parse documents. Others may compute vectors.
fn runtime_threads(service: &Service) -> Vec<PathBuf> {
    let is_runtime = |path: &PathBuf| {
        fs::read_to_string(path.join("comm")).is_ok_and(|name| name.starts_with("tokio"))
    };
    threads(service).filter(is_runtime).collect()
}

fn threads(service: &Service) -> impl Iterator<Item = PathBuf> {
    let threads = fs::read_dir(format!("/proc/{}/task", service.process_id())).unwrap();
    threads.flatten().map(|thread| thread.path())
}

fn parser_paths(service: &Service) -> Vec<PathBuf> {
    parsers_of(service).into_iter().map(|id| PathBuf::from(format!("/proc/{id}"))).collect()
}

/// Returns the ids of the service's processes that run parsers.
fn parsers_of(service: &Service) -> Vec<i32> {
    let service = service.process_id();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_parser = |process: &i32| {
        let read = |file: &str| fs::read_to_string(format!("/proc/{process}/{file}"));
        let parent = format!("\nPPid:\t{service}\n");
        read("status").is_ok_and(|status| status.contains(&parent))
            && read("cmdline").is_ok_and(|arguments| arguments.contains(PROCESS_ARGUMENT))
    };
    ids.filter(is_parser).collect()
}
