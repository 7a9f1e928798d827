//! How far a backup or a restore is, on standard error: a spinner on a terminal, a line now and
//! then elsewhere.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget};
use mc_postgres::backup::{Progress, Step};

use crate::output::Format;

/// How often a line is written where there is no terminal.
const SAY: Duration = Duration::from_secs(5);

/// Shows what it is told; nothing where the result is for a program.
pub fn shown(format: Format) -> Progress {
    let target = match format {
        Format::Json => ProgressDrawTarget::hidden(),
        Format::Text => ProgressDrawTarget::stderr(),
    };
    let bar = ProgressBar::with_draw_target(None, target);
    let in_lines = format == Format::Text && bar.is_hidden();
    let said = Mutex::new(Instant::now());
    Arc::new(move |step, bytes| {
        let text = format!("{} {}", word(step), HumanBytes(bytes));
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        if in_lines && said.elapsed() >= SAY {
            tracing::info!("{text}");
            *said = Instant::now();
        }
        bar.set_message(text);
        bar.tick();
    })
}

fn word(step: Step) -> &'static str {
    match step {
        Step::Dumping => "written",
        Step::Checking => "checked",
        Step::Restoring => "restored",
        Step::Comparing => "comparing what was restored with what was backed up; after",
    }
}
