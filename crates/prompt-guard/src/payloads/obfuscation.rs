//! Payloads with invisible characters, look-alikes and encodings.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use super::{Random, phrases, shapes};
use crate::encoded::rot13;

/// Generates zero-width characters inside words, or in place of them.
pub(super) fn zero_width(random: &mut Random) -> String {
    let text = phrases::override_order(random);
    match random.below(4) {
        0 => {
            let bits =
                text.bytes().take(12).flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1));
            let hidden: String =
                bits.map(|bit| if bit == 0 { '\u{200b}' } else { '\u{200c}' }).collect();
            format!("The delay{hidden} is in minutes.")
        }
        1 => {
            // Bytes as variation selectors after one symbol.
            let select = |byte: u8| char::from_u32(0xFE00 + u32::from(byte % 16)).unwrap_or(' ');
            let hidden: String = text.bytes().take(40).map(select).collect();
            format!("All good ✓{hidden} since May.")
        }
        _ => sprinkle(&text, random),
    }
}

fn sprinkle(text: &str, random: &mut Random) -> String {
    let invisible = random
        .pick(&["\u{200b}", "\u{2060}", "\u{200d}", "\u{feff}", "\u{ad}", "\u{34f}", "\u{2063}"]);
    let each = 1 + random.below(3);
    let mut out = String::new();
    for (at, c) in text.chars().enumerate() {
        out.push(c);
        if c.is_alphabetic() && at % each == 0 {
            out.push_str(invisible);
        }
    }
    out
}

/// Generates a phrase of tag characters, which no font shows.
pub(super) fn tags(random: &mut Random) -> String {
    let order = phrases::english_override(random);
    let tag =
        |c: char| char::from_u32(0xE0000 + u32::from(c)).filter(|_| c.is_ascii()).unwrap_or(c);
    let hidden: String = order.chars().map(tag).collect();
    let honest = random.pick(phrases::BENIGN);
    let middle = honest.char_indices().nth(7).map_or(0, |(at, _)| at);
    match random.below(3) {
        0 => format!("{honest}{hidden}"),
        1 => format!("{}{hidden}{}", &honest[..middle], &honest[middle..]),
        _ => hidden,
    }
}

/// Generates a text whose displayed order differs from its stored order.
pub(super) fn bidi(random: &mut Random) -> String {
    let order = phrases::english_override(random);
    let reversed: String = order.chars().rev().collect();
    match random.below(6) {
        0 => format!("\u{202e}{reversed}\u{202c}"),
        1 => format!("if is_admin \u{202e}\u{2066}// check \u{2069}\u{2066} {{ {order}"),
        2 => format!("\u{2067}{order}\u{2069}"),
        3 => format!("\u{202d}{order}\u{202c}"),
        4 => format!("{}\u{2068}\u{202b}{reversed}\u{202c}\u{2069}", random.pick(phrases::BENIGN)),
        _ => format!("let role = \"user\u{202e} \u{2066}// {order}\u{2069} \u{2066}\";"),
    }
}

#[rustfmt::skip]
const TWINS: &[(char, &str)] = &[
    ('a', "аɑ"), ('c', "сϲ"), ('e', "еҽ"), ('i', "іι"), ('o', "оο"), ('p', "рρ"), ('s', "ѕ"),
    ('v', "ѵν"), ('x', "х"), ('y', "уү"), ('g', "ɡ"), ('j', "ј"), ('d', "ԁ"), ('h', "һ"),
];

/// Replaces Latin letters by those of other alphabets, by styled letters or by digits.
pub(super) fn homoglyphs(random: &mut Random) -> String {
    let text = phrases::english_override(random);
    match random.below(5) {
        0 => shaped(&text, 0x1D400, 0x1D41A),
        1 => shaped(&text, 0xFF21, 0xFF41),
        2 => text.chars().map(|c| leet(c, random)).collect(),
        3 => text.split(' ').map(spaced).collect::<Vec<_>>().join("  "),
        _ => text.chars().map(|c| twin(c, random)).collect(),
    }
}

fn twin(c: char, random: &mut Random) -> char {
    let twins = TWINS.iter().find(|(latin, _)| *latin == c).map(|(_, twins)| *twins);
    match twins {
        Some(twins) if !random.one_in(3) => {
            let at = random.below(twins.chars().count());
            twins.chars().nth(at).unwrap_or(c)
        }
        _ => c,
    }
}

fn leet(c: char, random: &mut Random) -> char {
    let digit = match c.to_ascii_lowercase() {
        'i' => '1',
        'o' => '0',
        'e' => '3',
        'a' => '4',
        's' => '5',
        't' => '7',
        _ => c,
    };
    if random.one_in(2) { digit } else { c }
}

fn spaced(word: &str) -> String {
    word.chars().map(String::from).collect::<Vec<_>>().join(" ")
}

/// Replaces Latin letters by those that begin at these code points.
fn shaped(text: &str, upper: u32, lower: u32) -> String {
    let shape = |c: char| {
        let code = match c {
            'A'..='Z' => upper + u32::from(c) - u32::from('A'),
            'a'..='z' => lower + u32::from(c) - u32::from('a'),
            _ => return c,
        };
        char::from_u32(code).unwrap_or(c)
    };
    text.chars().map(shape).collect()
}

/// Generates a phrase under one or two encodings.
pub(super) fn encoded(random: &mut Random) -> String {
    let text = match random.below(3) {
        0 => phrases::role(random),
        1 => phrases::override_order(random),
        _ => phrases::english_override(random),
    };
    let once = encode(&text, random);
    let all = if random.one_in(5) { encode(&once, random) } else { once };
    let opening = random.pick(&["Decode and follow: ", "", "config = ", "Base64: ", "note "]);
    format!("{opening}{all}")
}

fn encode(text: &str, random: &mut Random) -> String {
    match random.below(7) {
        0 | 1 => STANDARD.encode(text),
        2 => URL_SAFE_NO_PAD.encode(text),
        3 => text.bytes().map(|byte| format!("{byte:02x}")).collect(),
        4 => text.bytes().map(|byte| format!("%{byte:02X}")).collect(),
        5 => text.chars().map(|c| format!("&#{};", u32::from(c))).collect(),
        _ if text.is_ascii() => rot13(text),
        _ => text.chars().map(|c| format!("\\u{{{:04x}}}", u32::from(c))).collect(),
    }
}

/// Combines several families.
pub(super) fn combined(random: &mut Random) -> String {
    match random.below(6) {
        0 => {
            let text: String =
                phrases::english_override(random).chars().map(|c| twin(c, random)).collect();
            sprinkle(&text, random)
        }
        1 => format!("{}\n{}", shapes::marker(random), phrases::concealment(random)),
        2 => STANDARD.encode(shapes::marker(random)),
        3 => {
            let text = phrases::persistence(random);
            format!("{}\n{}", sprinkle(&text, random), shapes::exfiltration(random))
        }
        4 => format!("{}{}", tags(random), shapes::fence(random)),
        _ => format!("\u{202e}{}\u{202c}\n{}", shapes::tool_call(random), homoglyphs(random)),
    }
}
