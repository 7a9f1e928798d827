//! The writer of log events: masks each event and adds colours for a terminal.

use std::io::{self, Write};

use tracing_subscriber::fmt::MakeWriter;

use super::line;
use crate::config::LogFormat;

/// A maker of writers that mask their event.
pub struct Masked<M> {
    inner: M,
    format: LogFormat,
    colors: bool,
}

impl<M> Masked<M> {
    /// Writes to the writers of `inner`; `colors` applies to text events only.
    pub fn new(inner: M, format: LogFormat, colors: bool) -> Self {
        Self { inner, format, colors: colors && format == LogFormat::Text }
    }
}

impl<'a, M, W: Write> MakeWriter<'a> for Masked<M>
where
    M: Fn() -> W + 'a,
{
    type Writer = Event<W>;

    fn make_writer(&'a self) -> Self::Writer {
        let Self { inner, format, colors } = self;
        Event { bytes: Vec::new(), output: inner(), format: *format, colors: *colors }
    }
}

/// One event, written only when it is complete: a part might hold half of a secret.
pub struct Event<W: Write> {
    bytes: Vec<u8>,
    output: W,
    format: LogFormat,
    colors: bool,
}

impl<W: Write> Write for Event<W> {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Write> Drop for Event<W> {
    fn drop(&mut self) {
        let event = String::from_utf8_lossy(&self.bytes);
        let event = event.trim_end_matches('\n');
        if event.is_empty() {
            return;
        }
        let line = match self.format {
            LogFormat::Text => line::text(event),
            LogFormat::Json => line::json(event),
        };
        let mut line = if self.colors { colored(&line) } else { line.into_owned() };
        line.push('\n');
        // An error of standard error can't be reported anywhere.
        let _ = self.output.write_all(line.as_bytes());
    }
}

/// Colours a line for a terminal: its time dim, its level in colour.
fn colored(line: &str) -> String {
    const DIM: &str = "\x1b[2m";
    const PLAIN: &str = "\x1b[0m";
    let Some((time, rest)) = line.split_once(' ') else { return line.to_owned() };
    let level = rest.trim_start().split(' ').next().unwrap_or_default();
    let colour = match level {
        "ERROR" => "\x1b[31m",
        "WARN" => "\x1b[33m",
        "INFO" => "\x1b[32m",
        "DEBUG" => "\x1b[34m",
        "TRACE" => "\x1b[35m",
        _ => return line.to_owned(),
    };
    let rest = &rest.trim_start()[level.len()..];
    format!("{DIM}{time}{PLAIN} {colour}{level:>5}{PLAIN}{rest}")
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::fmt::format::FmtSpan;

    use super::*;

    #[derive(Clone, Default)]
    pub struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Buffer {
        /// Returns the text written so far.
        pub fn text(&self) -> String {
            String::from_utf8(self.0.lock().expect("no panic").clone()).expect("text")
        }
    }

    impl Write for Buffer {
        fn write(&mut self, part: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("no panic").write(part)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns the text that `log` writes, in each format.
    fn logged(log: impl Fn()) -> [String; 2] {
        [LogFormat::Text, LogFormat::Json].map(|format| {
            let buffer = Buffer::default();
            let output = buffer.clone();
            let builder = tracing_subscriber::fmt()
                .with_max_level(tracing::Level::TRACE)
                .with_ansi(false)
                .with_span_events(FmtSpan::FULL)
                .with_writer(Masked::new(move || output.clone(), format, false));
            match format {
                LogFormat::Text => tracing::subscriber::with_default(builder.finish(), &log),
                LogFormat::Json => tracing::subscriber::with_default(builder.json().finish(), &log),
            }
            buffer.text()
        })
    }

    fn failure(outer: &str, inner: &str) -> anyhow::Error {
        anyhow::anyhow!("inner, {inner}").context(format!("outer, {outer}"))
    }

    #[test]
    fn messages_fields_spans_and_causes_are_masked() {
        let token = |n: u32| format!("{}_{}{n:04}", "ghp", "16C7e42F292c6912E7710c838347Ae17");
        let written = logged(|| {
            let span =
                tracing::info_span!("request", title = token(1), later = tracing::field::Empty);
            span.record("later", tracing::field::display(token(2)));
            let _entered = span.entered();
            tracing::info!("said {}", token(3));
            tracing::info!(a = token(4), b = %token(5), c = ?[token(6)], "fields");
            let error = failure(&token(7), &token(8));
            tracing::error!(error = &*error as &dyn std::error::Error, "failed");
            tracing::error!(?error, "failed");
            tracing::debug!(mail = "ada.lovelace@analytical.org", "to");
        });
        for log in written {
            assert!(!log.contains("16C7e42F") && !log.contains("analytical"), "{log}");
            assert!(log.matches("[secret:github-token]").count() >= 10, "{log}");
        }
    }

    #[test]
    fn logged_text_cannot_forge_another_line() {
        let hostile = "x\n2026-11-21T19:07:23Z ERROR forged\u{1b}[2J\r\u{9b}2J";
        let written = logged(|| {
            let _entered = tracing::info_span!("request", %hostile).entered();
            tracing::info!(plain = hostile, shown = %hostile, "{hostile}");
        });
        // The event, and the span's new, enter, exit and close.
        for log in written {
            assert!(!log.lines().any(|line| line.starts_with("2026-11-21T19:07:23Z")), "{log}");
            assert!(log.lines().count() == 5, "{log}");
            assert!(!log.chars().any(|c| c.is_control() && c != '\n'), "{log:?}");
        }
    }

    #[test]
    fn each_object_is_one_line_of_json() {
        let [_, json] = logged(|| {
            tracing::info!(
                card = 4_111_111_111_111_111_u64,
                "{}",
                "a\n\"b\"\\ password: \"gX7!pQ2#vL9z\""
            );
        });
        for line in json.lines() {
            serde_json::from_str::<serde_json::Value>(line).expect(line);
        }
        assert!(!json.contains("gX7!") && !json.contains("4111111111111111"), "{json}");
    }

    #[test]
    fn only_the_time_and_the_level_are_colored() {
        assert_eq!(colored("t  INFO x \\u{1b}"), "\x1b[2mt\x1b[0m \x1b[32m INFO\x1b[0m x \\u{1b}");
        assert_eq!(colored("t what"), "t what");
    }
}
