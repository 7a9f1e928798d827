//! The quality of `recall`'s bundles, measured on this project's own set of notes and questions.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::Value;

use crate::bundle_sets::figures::Figures;
use crate::bundle_sets::report::{Scored, failures, score, table};
use crate::bundle_sets::run::{self, Rest};
use crate::bundle_sets::set::Set;
use crate::cache::cache;
use crate::harness::Service;

/// Minimum figures. They are those measured on a set that was never tuned for, less two questions.
/// Raise them when the bundles improve.
const FLOOR: Floor = Floor {
    useful: 0.66,
    must: 0.79,
    complete: 0.81,
    first: 0.85,
    noise_chars: 0.15,
    empty_right: 5,
    wrongly_empty: 6,
    tokens: 400.0,
};

struct Floor {
    useful: f64,
    must: f64,
    complete: f64,
    first: f64,
    /// Maximum.
    noise_chars: f64,
    empty_right: usize,
    /// Maximum.
    wrongly_empty: usize,
    /// Maximum of the median bundle.
    tokens: f64,
}

#[tokio::test]
async fn bundles_reach_the_minimum_figures() {
    let set = Set::read(&directory("gunicorn")).expect("a set");
    assert!(set.notes.len() >= 40 && set.questions.len() >= 40, "a set worth measuring");
    let mut service = Service::prepared();
    // A hundred questions in a row must not be rate-limited.
    service.set("MEMORY_COPILOT__SERVER__LIMITS__REQUESTS_PER_MINUTE_PER_ADDRESS", "0".into());
    service.set("MEMORY_COPILOT__SERVER__LIMITS__UNITS_PER_MINUTE_PER_CALLER", "0".into());
    service.launch().await;
    let scored = measure(&service, &set).await.expect("the set is asked");
    show(&table(std::slice::from_ref(&scored)));
    let figures = scored.figures();
    let short = FLOOR.missed(&figures);
    assert!(short.is_empty(), "{short:?}\n{}", failures(&scored));
}

async fn measure(service: &Service, set: &Set) -> Result<Scored> {
    let scratch = tempfile::tempdir()?;
    let (repository, commit) = set.source.repository(None, &cache(), scratch.path())?;
    let outcome = run::run(service, &set.name, set, (&repository, commit)).await?;
    Ok(score(set, outcome))
}

impl Rest for Service {
    async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        Ok(Self::post(self, path, body).await)
    }

    async fn get(&self, path: &str) -> Result<Value> {
        Ok(Self::get(self, path).await)
    }
}

impl Floor {
    /// Returns the figures that miss their limit, with the limit.
    fn missed(&self, figures: &Figures) -> Vec<String> {
        let least = |name, is: f64, floor: f64| {
            (is < floor).then(|| format!("{name} is {is:.3}, not at least {floor}"))
        };
        let most = |name, is: f64, ceiling: f64| {
            (is > ceiling).then(|| format!("{name} is {is:.3}, not at most {ceiling}"))
        };
        let count = |count: usize| count as f64;
        let checks = [
            least("useful", figures.useful, self.useful),
            least("must", figures.must, self.must),
            least("complete", figures.complete, self.complete),
            least("first", figures.first, self.first),
            least("empty_right", count(figures.empty_right.some), count(self.empty_right)),
            most("noise_chars", figures.noise_chars, self.noise_chars),
            most("wrongly_empty", count(figures.wrongly_empty.some), count(self.wrongly_empty)),
            most("tokens", figures.tokens, self.tokens),
        ];
        checks.into_iter().flatten().collect()
    }
}

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/bundles").join(name)
}

#[expect(clippy::print_stdout, reason = "the figures are what the test is read for")]
fn show(table: &str) {
    println!("{table}");
}
