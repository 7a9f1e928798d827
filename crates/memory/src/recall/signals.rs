//! Reducing signals, such as whole stack traces, to their informative words.

use std::sync::LazyLock;

use mc_sanitizer::visible_text::without_sequences;
use regex::Regex;

use crate::text::regex;

/// Longest signal that is used as it is, in characters: a short one has no noise.
const SHORT_MAX_CHARS: usize = 120;
/// Most characters kept of a longer signal: more words would outweigh the query.
const KEPT_MAX_CHARS: usize = 400;

/// Parts that differ between runs: times, addresses, ids, and directories.
static NOISE: LazyLock<Regex> = LazyLock::new(|| {
    let parts = [
        r"\b\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?)?(Z|[+-]\d{2}:?\d{2})?",
        r"\b\d{2}:\d{2}:\d{2}([.,]\d+)?\b",
        r"\b[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b",
        r"\b0x[0-9a-fA-F]+\b",
        r"\b[0-9a-fA-F]{16,}\b",
        r"(?:[A-Za-z]:)?(?:[/\\][\w.@+-]+){2,}[/\\]",
    ];
    regex(&parts.join("|"))
});

static FRAME: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"^(at |from |File "|in |\d+: |#\d+ |\.{3} \d+ more)"#));

/// A line that names the error. Python prints it last, most others first.
static ERROR_LINE: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?i)(error|exception|panic|fatal|violation|fail|refused|denied|timed out|timeout)")
});

/// Returns a short signal as it is, and of a longer one the words that reports of the same error
/// share: from lines that name the error, then other lines, then the nearest frames.
pub fn condense_signal(signal: &str) -> String {
    if signal.chars().count() <= SHORT_MAX_CHARS {
        return signal.to_owned();
    }
    // Terminal sequences (colors, links) are not words, and hide the beginning of a line.
    let signal = without_sequences(signal);
    let lines = signal.lines().map(str::trim).filter(|line| !line.is_empty());
    let (frames, messages): (Vec<&str>, Vec<&str>) = lines.partition(|line| FRAME.is_match(line));
    let (errors, others): (Vec<&str>, Vec<&str>) =
        messages.into_iter().partition(|line| ERROR_LINE.is_match(line));
    let mut kept = String::new();
    for word in errors.iter().chain(&others).chain(&frames).flat_map(|line| words(line)) {
        let length = word.chars().count();
        if kept.chars().count() + length >= KEPT_MAX_CHARS {
            // A word that never fits, such as a line of JSON, must not hide what follows it.
            if length >= KEPT_MAX_CHARS {
                continue;
            }
            break;
        }
        if !kept.is_empty() {
            kept.push(' ');
        }
        kept.push_str(&word);
    }
    // If there are only ids and paths, they are better than nothing.
    if kept.is_empty() { signal.chars().take(KEPT_MAX_CHARS).collect() } else { kept }
}

fn words(line: &str) -> Vec<String> {
    let plain = NOISE.replace_all(line, " ");
    plain.split_whitespace().map(ToOwned::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_signal_is_unchanged() {
        for signal in ["nil-delay", "", "2026-01-01 0xdeadbeef /a/b/c.rb"] {
            assert_eq!(condense_signal(signal), signal);
        }
    }

    #[test]
    fn long_line_keeps_words_and_loses_parts_of_one_run() {
        let line = "2026-11-20T10:11:12.345Z ERROR worker 0x7f3a9c PG::UniqueViolation: duplicate \
            key value violates unique constraint \"orders_pkey\" in \
            /home/me/shop/app/models/order.rb:42";
        assert_eq!(
            condense_signal(line),
            "ERROR worker PG::UniqueViolation: duplicate key value violates unique constraint \
             \"orders_pkey\" in order.rb:42"
        );
    }

    #[test]
    fn trace_keeps_its_message_before_its_frames() {
        let frames: String =
            (0..40).map(|n| format!("    at frame{n} (/srv/app/lib/file{n}.js:{n}:1)\n")).collect();
        let trace =
            format!("TypeError: Cannot read properties of undefined (reading 'delay')\n{frames}");
        let kept = condense_signal(&trace);
        assert!(kept.starts_with(
            "TypeError: Cannot read properties of undefined (reading 'delay') at frame0"
        ));
        assert!(kept.chars().count() <= KEPT_MAX_CHARS, "{kept}");
        let calls =
            "  File \"/srv/app/x.py\", line 3, in f\n    value = settings[name]\n".repeat(20);
        let python = format!("Traceback (most recent call last):\n{calls}KeyError: 'delay_unit'");
        assert!(
            condense_signal(&python).starts_with("KeyError: 'delay_unit' Traceback"),
            "{python}"
        );
    }

    #[test]
    fn sequences_of_a_terminal_are_no_words() {
        let frames = "\u{1b}[90m    at load (/srv/app/lib/a.js:1)\u{1b}[0m\n".repeat(9);
        let link = "\u{1b}]8;;https://ci.example/7\u{7}job\u{1b}]8;;\u{7}";
        let trace = format!("{frames}\u{9b}31mTypeError: no delay\u{9b}0m in {link}\n");
        assert!(condense_signal(&trace).starts_with("TypeError: no delay in job at load"));
    }

    #[test]
    fn text_after_an_oversized_word_is_kept() {
        let json = format!("{{\"items\":[{}]}}", "1,".repeat(300));
        let kept = condense_signal(&format!("Error: {json} caused by nil delay_unit"));
        assert_eq!(kept, "Error: caused by nil delay_unit");
    }

    #[test]
    fn signal_of_only_ids_is_not_emptied() {
        let ids = "0123456789abcdef0123 ".repeat(8);
        assert!(!condense_signal(&ids).is_empty());
    }
}
