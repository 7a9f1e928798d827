//! Parses recorded deliveries and prints their events: `read_samples DIRECTORY`. The directory has
//! the bodies as `PROVIDER/NAME.json`, and their headers in `provenance.jsonl`.

#![expect(clippy::print_stdout, reason = "the output of the tool")]

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::path::PathBuf;

use http::{HeaderMap, HeaderValue};
use mc_connectors::parse;
use mc_domain::Provider;
use serde::Deserialize;

#[derive(Deserialize)]
struct Sample {
    file: String,
    headers: HashMap<String, String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args_os().nth(1).map(PathBuf::from).ok_or("name the directory")?;
    for line in fs::read_to_string(directory.join("provenance.jsonl"))?.lines() {
        let sample: Sample = serde_json::from_str(line)?;
        let (provider, _) = sample.file.split_once('/').ok_or("a file is in no directory")?;
        let provider: Provider = provider.parse()?;
        let headers = HeaderMap::<HeaderValue>::try_from(&sample.headers)?;
        let body = fs::read(directory.join(&sample.file))?;
        let outcome = match parse(provider, &headers, &body) {
            Ok(delivery) => {
                format!("{} -> {}", delivery.name, delivery.event.encode())
            }
            Err(error) => format!("unreadable: {error}"),
        };
        println!("{}: {outcome}", sample.file);
    }
    Ok(())
}
