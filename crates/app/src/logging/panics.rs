//! Logging of panics.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::PanicHookInfo;

/// Installs a hook that logs panics as masked events. If the log has not started, or its filter
/// drops errors, the hook prints a masked line on standard error.
pub fn log_panics() {
    std::panic::set_hook(Box::new(log));
}

fn log(panic: &PanicHookInfo<'_>) {
    let message = panic.payload_as_str().unwrap_or("a panic without a message");
    let location = panic.location().map(ToString::to_string).unwrap_or_default();
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("unnamed");
    // Captured only if RUST_BACKTRACE is set.
    let backtrace = Backtrace::capture();
    let backtrace = (backtrace.status() == BacktraceStatus::Captured).then_some(&backtrace);
    if tracing::enabled!(tracing::Level::ERROR) {
        tracing::error!(
            error.cause = message,
            panic.location = location,
            panic.thread = thread,
            panic.backtrace = backtrace.map(tracing::field::display),
            "panicked"
        );
    } else {
        let trace = backtrace.map(|trace| format!("\n{trace}")).unwrap_or_default();
        crate::output::error_line(&format!(
            "memory-copilot: thread {thread} panicked at {location}: {message}{trace}"
        ));
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{catch_unwind, take_hook};

    use super::*;
    use crate::config::LogFormat;
    use crate::logging::writer::Masked;
    use crate::logging::writer::tests::Buffer;

    #[test]
    fn panic_is_logged_on_one_masked_line() {
        let buffer = Buffer::default();
        let output = buffer.clone();
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(Masked::new(
            move || output.clone(),
            LogFormat::Text,
            false,
        ));
        let token = format!("{}_{}", "ghp", "16C7e42F292c6912E7710c838347Ae178B4a");
        log_panics();
        let panicked = tracing::subscriber::with_default(subscriber.finish(), || {
            catch_unwind(|| panic!("no such user: {token}\nforged"))
        });
        drop(take_hook());
        assert!(panicked.is_err());
        let log = buffer.text();
        let expected = "panicked error.cause=\"no such user: [secret:github-token]\\nforged\" \
                        panic.location=\"";
        assert!(log.contains(expected) && log.contains("panics.rs:"), "{log}");
        assert_eq!(log.lines().count(), 1, "{log}");
    }
}
