//! Secrets and special tokens that are disguised at random, for property tests of renderers.

#![allow(dead_code, reason = "each crate uses a part")]

use mc_sanitizer::visible_text::invisible_kind;
use proptest::prelude::*;

/// Digits and letters, generated for these tests. Secrets are assembled, so that other scanners
/// find none here.
const RANDOM: &str = "q8Zr2Lm0Tx5vB7nKc3Wd9Yh4Jf6Gs1Pa0QeR";

/// Special tokens, and the beginning of a delimiter of recalled text.
const TOKENS: [&str; 12] = [
    "<|im_start|>",
    "<|eot_id|>",
    "<tool_call>",
    "</tool_response>",
    "<think>",
    "</s>",
    "<<SYS>>",
    "<start_of_turn>",
    "[ARGS]",
    "[/INST]",
    "[TOOL_CALLS]",
    "</recalled",
];

/// Invisible parts, one of which precedes some of the characters.
const NOISE: [&str; 17] = [
    "\u{200b}",
    "\u{200d}",
    "\u{2060}",
    "\u{ad}",
    "\u{202e}",
    "\u{fe0f}",
    "\u{e0101}",
    "\u{34f}",
    "\u{3164}",
    "\u{e0041}",
    "\0",
    "\u{1b}[31m",
    "[0m",
    "\u{9b}1m",
    "\u{1b}]8;;https://a.example\u{7}",
    "\u{1b}]0;x\u{1b}\\",
    "\u{9d}0;x\u{9c}",
];

fn secrets() -> [String; 3] {
    [
        ["gh", "p_", RANDOM].concat(),
        ["gl", "pat-", &RANDOM[..20]].concat(),
        ["AK", "IA", "Q8ZR2LM5TX7VB3NK"].concat(),
    ]
}

/// Returns texts with disguised secrets, disguised tokens and words.
pub fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        prop::sample::select(secrets().to_vec()).prop_flat_map(disguised),
        prop::sample::select(TOKENS.to_vec()).prop_flat_map(|token| disguised(token.to_owned())),
        "[a-z]{1,8}",
    ];
    prop::collection::vec(part, 1..6).prop_map(|parts| parts.join(" "))
}

/// Returns ways to write `text`: noise between its characters, some of them full-width.
fn disguised(text: String) -> impl Strategy<Value = String> {
    let noise = prop_oneof![3 => Just(""), 1 => prop::sample::select(NOISE.to_vec())];
    let length = text.chars().count();
    let parts = prop::collection::vec((noise, prop::bool::weighted(0.2)), length);
    parts.prop_map(move |parts| {
        let mut written = String::new();
        for (c, (noise, is_wide)) in text.chars().zip(parts) {
            written.push_str(noise);
            written.push(if is_wide { full_width(c) } else { c });
        }
        written
    })
}

fn full_width(c: char) -> char {
    char::from_u32(u32::from(c) + 0xFEE0).filter(|_| c.is_ascii_graphic()).unwrap_or(c)
}

/// Returns the text without invisible characters and full-width forms, as a program would that
/// normalizes it.
fn stripped(text: &str) -> String {
    let is_shown = |c: &char| invisible_kind(*c).is_none() && *c != char::REPLACEMENT_CHARACTER;
    let narrow = |c: char| match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xFEE0).unwrap_or(c),
        _ => c,
    };
    text.chars().filter(is_shown).map(narrow).collect()
}

/// Returns the secret whose end the rendered text shows.
pub fn secret_in(text: &str) -> Option<String> {
    const END: usize = 14;
    let stripped = stripped(text);
    secrets().into_iter().find(|secret| stripped.contains(&secret[secret.len() - END..]))
}

/// Returns the token that the rendered text shows.
pub fn token_in(text: &str) -> Option<&'static str> {
    let stripped = stripped(text);
    TOKENS.into_iter().find(|token| stripped.contains(token))
}

/// Returns the text without the escapes of a terminal's renderer, such as `\u{1b}`.
pub fn without_escapes(text: &str) -> String {
    let mut parts = text.split("\\u{");
    let first = parts.next().unwrap_or_default();
    let rest = parts.map(|part| part.split_once('}').map_or(part, |(_, rest)| rest));
    std::iter::once(first).chain(rest).collect()
}
