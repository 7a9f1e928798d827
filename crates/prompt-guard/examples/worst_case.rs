//! Measures the inspection of ten megabytes of one line, with repetitions that slow naive regexes.

#![expect(clippy::print_stdout, reason = "a measuring tool")]

use std::time::Instant;

use mc_prompt_guard::inspect;

const BYTES: usize = 10_000_000;

const PARTS: &[&str] = &[
    "plain words of a note ",
    "[",
    "<data ",
    "</data",
    "ignore ",
    "ignore all previous instructions ",
    "you the all any user this ",
    "\u{200b}a",
    "{\"name\":",
    "`",
    "%41",
    "&#65;",
    "\\u0041",
    "aWdub3JlIGFsbCBwcmV2 ",
    "AAAA",
    "а",
    "аa",
    "i ",
    "i.",
    "curl ",
    "curl cat ",
    "Human:",
    "Human:\n",
    "![a](http:",
    "\u{202e}",
    "\u{301}",
    "<img ",
    "env | ",
    "snoitcurtsni vtaber cerivbhf ",
];

fn main() {
    for part in PARTS {
        let text = part.repeat(BYTES / part.len());
        let begun = Instant::now();
        let found = inspect(&text).len();
        println!("{:6.2} s {found:7} detections: {part:?}", begun.elapsed().as_secs_f64());
    }
}
