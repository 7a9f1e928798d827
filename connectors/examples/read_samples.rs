//! What is read of deliveries that were kept: `read_samples FOLDER`. The folder holds the bodies as
//! `SOURCE/NAME.json`, and their headers in `provenance.jsonl`.

#![expect(clippy::print_stdout, reason = "a tool that shows")]

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::path::PathBuf;

use http::{HeaderMap, HeaderValue};
use mc_connectors::read;
use mc_domain::Provider;
use serde::Deserialize;

#[derive(Deserialize)]
struct Sample {
    file: String,
    headers: HashMap<String, String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from).ok_or("name the folder")?;
    for line in fs::read_to_string(folder.join("provenance.jsonl"))?.lines() {
        let sample: Sample = serde_json::from_str(line)?;
        let (source, _) = sample.file.split_once('/').ok_or("a file stands in no folder")?;
        let source: Provider = source.parse()?;
        let headers = HeaderMap::<HeaderValue>::try_from(&sample.headers)?;
        let body = fs::read(folder.join(&sample.file))?;
        let told = match read(source, &headers, &body) {
            Ok(delivery) => {
                format!("{} -> {}", delivery.name, serde_json::to_string(&delivery.event)?)
            }
            Err(error) => format!("unreadable: {error}"),
        };
        println!("{}: {told}", sample.file);
    }
    Ok(())
}
