//! Progress of a backup or a restore, on standard error: a spinner on a terminal, otherwise a log
//! line at intervals.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget};
use mc_postgres::backup::{Progress, Step};

use crate::output::Format;

/// Interval of log lines if there is no terminal.
const LOG_INTERVAL: Duration = Duration::from_secs(5);

/// Returns a callback that shows the progress, or nothing if the output format is JSON.
pub fn reporter(format: Format) -> Progress {
    let target = match format {
        Format::Json => ProgressDrawTarget::hidden(),
        Format::Text => ProgressDrawTarget::stderr(),
    };
    let bar = ProgressBar::with_draw_target(None, target);
    let in_lines = format == Format::Text && bar.is_hidden();
    let logged_at = Mutex::new(Instant::now());
    Arc::new(move |step, bytes| {
        let text = format!("{} {}", label(step), HumanBytes(bytes));
        let mut logged_at = logged_at.lock().unwrap_or_else(PoisonError::into_inner);
        if in_lines && logged_at.elapsed() >= LOG_INTERVAL {
            tracing::info!("{text}");
            *logged_at = Instant::now();
        }
        bar.set_message(text);
        bar.tick();
    })
}

fn label(step: Step) -> &'static str {
    match step {
        Step::Dumping => "written",
        Step::Checking => "checked",
        Step::Restoring => "restored",
        Step::Comparing => "comparing the restored data with the backup; after",
    }
}
