//! Parsers of text from outside: they run in child processes without privileges.

use std::fs;
use std::path::Path;

use mc_sandbox::PROCESS_ARGUMENT;
use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde_json::{Value, json};

use crate::harness::Service;
use crate::repository;

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
