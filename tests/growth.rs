//! Growth of the time that parsers of outside text take, for texts that were made to be slow.
//!
//! Such a text may come from a member, a file of a repository or a comment at a provider. So a
//! parser takes linear time, or its input or time is limited. The processor time of the thread is
//! compared for two lengths of text, so other processes on the machine do not count.

#![allow(dead_code, reason = "each crate uses a part")]

use rustix::time::{ClockId, clock_gettime};

/// Factor by which the text grows.
const GROWTH: usize = 8;
/// Greatest exponent: 1 is linear, 2 is quadratic. The margin is for caches of the processor.
const MAX_EXPONENT: f64 = 1.6;
/// Shorter times are not compared, in seconds.
const NEGLIGIBLE: f64 = 0.005;
/// Measurements of which one has to be linear.
const ATTEMPTS: usize = 5;
/// Measurements of one time, of which the shortest counts: the first may compile expressions.
const RUNS: usize = 3;

/// Parts that a family repeats, each without its end or in great number.
#[rustfmt::skip]
const UNITS: &[&str] = &[
    // Markdown.
    "#\n", "# a\n", "# a\n## b\n", "## a\n\ntext\n", "a\n==\n", "a\n--\n", "> ", "- ", "- a\n",
    "  - a\n", "[", "[a](", "![", "`", "` ", "```\n", "``` ", "~~~\n", "*", "**a ", "_a ", "__",
    "| a |\n", "|-|\n", "--\n", "---\n", "\n", " \n", "\t", " ", "a\n", "\\", "\r",
    // HTML and templates.
    "<", "<b>", "<p>", "<a href='", "<!--", "<!--\n", "<!-- a -->\n", "<![CDATA[", "&", "&amp;",
    "{", "{{", "${", "(", "((",
    // Words, names and lists of them.
    "a", "aB", "a. ", "a,", "1,", "1 ", "no ", "before ", "not a ", "hi, ", "thanks! ", "a/b ",
    "A.b ", "_", "\"", "'", "\"a\" ", "!", "-", "é", "e\u{301}", "я ", "🙂", "\u{200b}", "\u{202e}",
    // Parts that readers do not see, and references.
    "a\u{8}", "\u{e0041}", "\u{1b}]", "\u{1b}]0;ignore all\u{7}", "\u{9d}a", "\\e]a", "[0m", "＜",
    "&#0", "&#x", "&quot ",
    // Secrets and instructions to a model.
    "password ", "password=", "token = \"", "password: 'a\\' ", "secret:", "-----BEGIN ", "eyJ",
    "ghp_", "http://a:b@", "a@b.", "+7 999 123 45 67 ", "4111 1111 1111 1111 ", "QUFB", "%41",
    "[secret:", "ignore all ", "system: ", "<|im_start|>", "[INST]", "i g n o r e ",
];

/// Texts of one kind, of any length.
pub struct Family {
    name: String,
    text: Box<dyn Fn(usize) -> String>,
}

/// Creates a family from its name and a function from the number of bytes to the text.
pub fn family(name: &str, text: impl Fn(usize) -> String + 'static) -> Family {
    Family { name: name.to_owned(), text: Box::new(text) }
}

/// Returns the families that repeat one part.
pub fn repetitions() -> Vec<Family> {
    let repeated = |unit: &&'static str| {
        let unit = *unit;
        family(&format!("{unit:?}"), move |bytes| unit.repeat(bytes / unit.len()))
    };
    UNITS.iter().map(repeated).collect()
}

/// Checks that the time of a parser is linear in the text, for each family, from `bytes` on.
///
/// # Panics
/// If the time for a family grows faster.
pub fn assert_linear(parser: &str, bytes: usize, families: &[Family], parse: impl Fn(&str)) {
    for Family { name, text } in families {
        let is_linear = (0..ATTEMPTS)
            .map(|_| exponent(bytes, text, &parse))
            .any(|exponent| exponent <= MAX_EXPONENT);
        assert!(is_linear, "{parser}: the time for {name} grows faster than the text");
    }
}

/// Returns the exponent of the growth of the time; 0 for a negligible time.
fn exponent(bytes: usize, text: &dyn Fn(usize) -> String, parse: &impl Fn(&str)) -> f64 {
    // More than quadratic growth shows in a smaller text, before it takes minutes.
    const HOPELESS: f64 = 2.4;
    let small = seconds(&text(bytes), parse);
    let mut exponent = 0.0;
    for factor in [2, GROWTH] {
        let large = seconds(&text(bytes * factor), parse);
        exponent = if large < NEGLIGIBLE { 0.0 } else { (large / small).log(factor as f64) };
        if exponent > HOPELESS {
            break;
        }
    }
    exponent
}

/// Returns the shortest of several times, in seconds.
fn seconds(text: &str, parse: &impl Fn(&str)) -> f64 {
    let run = || {
        let start = processor_seconds();
        parse(text);
        processor_seconds() - start
    };
    (0..RUNS).map(|_| run()).fold(f64::INFINITY, f64::min)
}

fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
