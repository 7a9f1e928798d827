//! What is shown of a command that has ended.

use mc_sandbox::{CapturedOutput, EndedBy, Limit, Limits, Outcome, Status};

/// Exit code of a command that reached a limit, as `timeout` has it.
pub const LIMIT_CODE: i32 = 124;
/// Exit code of a command that was cancelled, as after Ctrl-C.
pub const CANCELLED_CODE: i32 = 130;
/// Number that shells add to a signal for an exit code.
const SIGNAL_CODE: i32 = 128;

/// Returns the exit code, and what else ended the command.
///
/// `time_field` is the field of the request with the time.
pub fn ending(outcome: &Outcome, limits: &Limits, time_field: &str) -> (i32, Option<String>) {
    match (outcome.ended_by, outcome.status) {
        (EndedBy::Limit(limit), _) => {
            let reason = reason_of(limit, limits, time_field);
            (LIMIT_CODE, Some(format!("The command was ended: {reason}.")))
        }
        (EndedBy::Cancelled, _) => (CANCELLED_CODE, Some("The command was cancelled.".into())),
        (EndedBy::Exit, Status::Exited(code)) => (code, None),
        (EndedBy::Exit, Status::Signaled(signal)) => {
            let reason = format!("The command was ended by signal {signal}.");
            (SIGNAL_CODE + signal, Some(reason))
        }
    }
}

/// Returns which limit was reached, with the setting that an operator may raise.
fn reason_of(limit: Limit, limits: &Limits, time_field: &str) -> String {
    let mebibytes = |bytes: u64| format!("{} MiB", bytes >> 20);
    let (excess, setting) = match limit {
        Limit::WallTime => {
            let seconds = limits.wall_time.as_secs();
            return format!("it ran longer than {seconds} s; set {time_field}, or do less at once");
        }
        Limit::ProcessorTime => (
            format!("used more than {} s of processor time", limits.processor_time.as_secs()),
            "processor_time_seconds",
        ),
        Limit::Memory => {
            (format!("used more than {} of memory", mebibytes(limits.memory_bytes)), "memory_bytes")
        }
        Limit::Processes => {
            (format!("started more than {} processes", limits.processes), "processes")
        }
        Limit::FileBytes => {
            (format!("wrote a file of more than {}", mebibytes(limits.file_bytes)), "file_bytes")
        }
        Limit::DiskBytes => {
            (format!("used more than {} of the disk", mebibytes(limits.disk_bytes)), "disk_bytes")
        }
    };
    format!("it {excess}; do less at once, or ask the operator to raise sandbox.limits.{setting}")
}

/// Returns an output as masked text, with the number of bytes that were left out.
///
/// `mask` masks a text.
pub fn text(captured: &CapturedOutput, mask: impl Fn(&str) -> String) -> String {
    let mask = |bytes: &[u8]| mask(&String::from_utf8_lossy(bytes));
    if captured.omitted_bytes() == 0 {
        return mask(&[captured.head.as_slice(), &captured.tail].concat());
    }
    let (head, tail) = (whole_start(&captured.head), whole_end(&captured.tail));
    let omitted = captured.total_bytes.saturating_sub((head.len() + tail.len()) as u64);
    let (head, tail) = (mask(head), mask(tail));
    let end = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    format!("{head}{end}[{omitted} bytes omitted]\n{tail}")
}

/// Returns the start of an output that was cut, to the end of a line or a word. A part of a secret
/// would not be found.
pub(crate) fn whole_start(bytes: &[u8]) -> &[u8] {
    let boundary = |is_boundary: fn(&u8) -> bool| bytes.iter().rposition(is_boundary);
    let end = boundary(|byte| *byte == b'\n').or_else(|| boundary(u8::is_ascii_whitespace));
    end.map_or(bytes, |end| &bytes[..=end])
}

/// Returns the end of an output that was cut, from the start of a line or a word.
pub(crate) fn whole_end(bytes: &[u8]) -> &[u8] {
    let boundary = |is_boundary: fn(&u8) -> bool| bytes.iter().position(is_boundary);
    let start = boundary(|byte| *byte == b'\n').or_else(|| boundary(u8::is_ascii_whitespace));
    start.map_or(bytes, |start| &bytes[start + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_output_has_whole_lines_or_words() {
        assert_eq!(whole_start(b"one\ntwo thr"), b"one\n");
        assert_eq!(whole_start(b"one two thr"), b"one two ");
        assert_eq!(whole_start(b"one"), b"one");
        assert_eq!(whole_end(b"e two\nthree"), b"three");
        assert_eq!(whole_end(b"e two"), b"two");
        assert_eq!(whole_end(b"one"), b"one");
    }
}
