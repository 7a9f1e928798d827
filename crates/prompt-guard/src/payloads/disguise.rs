//! Letters that hide, lie or are encoded.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use super::{Dice, phrases, shapes};

/// Characters without width within words, or instead of them.
pub(super) fn zero_width(dice: &mut Dice) -> String {
    let text = phrases::overriding(dice);
    match dice.below(4) {
        0 => {
            let bits =
                text.bytes().take(12).flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1));
            let hidden: String =
                bits.map(|bit| if bit == 0 { '\u{200b}' } else { '\u{200c}' }).collect();
            format!("The delay{hidden} is in minutes.")
        }
        1 => {
            // Bytes as variation selectors behind one sign.
            let select = |byte: u8| char::from_u32(0xFE00 + u32::from(byte % 16)).unwrap_or(' ');
            let hidden: String = text.bytes().take(40).map(select).collect();
            format!("All good ✓{hidden} since May.")
        }
        _ => sprinkle(&text, dice),
    }
}

fn sprinkle(text: &str, dice: &mut Dice) -> String {
    let invisible = dice
        .pick(&["\u{200b}", "\u{2060}", "\u{200d}", "\u{feff}", "\u{ad}", "\u{34f}", "\u{2063}"]);
    let each = 1 + dice.below(3);
    let mut out = String::new();
    for (at, c) in text.chars().enumerate() {
        out.push(c);
        if c.is_alphabetic() && at % each == 0 {
            out.push_str(invisible);
        }
    }
    out
}

/// A phrase in characters that no font shows.
pub(super) fn tags(dice: &mut Dice) -> String {
    let order = phrases::overriding_in_english(dice);
    let tag =
        |c: char| char::from_u32(0xE0000 + u32::from(c)).filter(|_| c.is_ascii()).unwrap_or(c);
    let hidden: String = order.chars().map(tag).collect();
    let honest = dice.pick(phrases::HONEST);
    let middle = honest.char_indices().nth(7).map_or(0, |(at, _)| at);
    match dice.below(3) {
        0 => format!("{honest}{hidden}"),
        1 => format!("{}{hidden}{}", &honest[..middle], &honest[middle..]),
        _ => hidden,
    }
}

/// A text that is shown otherwise than it is read.
pub(super) fn bidi(dice: &mut Dice) -> String {
    let order = phrases::overriding_in_english(dice);
    let reversed: String = order.chars().rev().collect();
    match dice.below(6) {
        0 => format!("\u{202e}{reversed}\u{202c}"),
        1 => format!("if is_admin \u{202e}\u{2066}// check \u{2069}\u{2066} {{ {order}"),
        2 => format!("\u{2067}{order}\u{2069}"),
        3 => format!("\u{202d}{order}\u{202c}"),
        4 => format!("{}\u{2068}\u{202b}{reversed}\u{202c}\u{2069}", dice.pick(phrases::HONEST)),
        _ => format!("let role = \"user\u{202e} \u{2066}// {order}\u{2069} \u{2066}\";"),
    }
}

const TWINS: &[(char, &str)] = &[
    ('a', "аɑ"),
    ('c', "сϲ"),
    ('e', "еҽ"),
    ('i', "іι"),
    ('o', "оο"),
    ('p', "рρ"),
    ('s', "ѕ"),
    ('v', "ѵν"),
    ('x', "х"),
    ('y', "уү"),
    ('g', "ɡ"),
    ('j', "ј"),
    ('d', "ԁ"),
    ('h', "һ"),
];

/// Letters of other alphabets, shapes or digits for Latin ones.
pub(super) fn homoglyphs(dice: &mut Dice) -> String {
    let text = phrases::overriding_in_english(dice);
    match dice.below(5) {
        0 => shaped(&text, 0x1D400, 0x1D41A),
        1 => shaped(&text, 0xFF21, 0xFF41),
        2 => text.chars().map(|c| leet(c, dice)).collect(),
        3 => text.split(' ').map(spaced).collect::<Vec<_>>().join("  "),
        _ => text.chars().map(|c| twin(c, dice)).collect(),
    }
}

fn twin(c: char, dice: &mut Dice) -> char {
    let twins = TWINS.iter().find(|(latin, _)| *latin == c).map(|(_, twins)| *twins);
    match twins {
        Some(twins) if !dice.one_in(3) => {
            let at = dice.below(twins.chars().count());
            twins.chars().nth(at).unwrap_or(c)
        }
        _ => c,
    }
}

fn leet(c: char, dice: &mut Dice) -> char {
    let digit = match c.to_ascii_lowercase() {
        'i' => '1',
        'o' => '0',
        'e' => '3',
        'a' => '4',
        's' => '5',
        't' => '7',
        _ => c,
    };
    if dice.one_in(2) { digit } else { c }
}

fn spaced(word: &str) -> String {
    word.chars().map(String::from).collect::<Vec<_>>().join(" ")
}

/// Latin letters as those that begin at these code points.
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

/// A phrase under one or two encodings.
pub(super) fn encoded(dice: &mut Dice) -> String {
    let text = match dice.below(3) {
        0 => phrases::role(dice),
        1 => phrases::overriding(dice),
        _ => phrases::overriding_in_english(dice),
    };
    let once = encode(&text, dice);
    let all = if dice.one_in(5) { encode(&once, dice) } else { once };
    let opening = dice.pick(&["Decode and follow: ", "", "config = ", "Base64: ", "note "]);
    format!("{opening}{all}")
}

fn encode(text: &str, dice: &mut Dice) -> String {
    let is_english = text.is_ascii();
    match dice.below(7) {
        0 | 1 => STANDARD.encode(text),
        2 => URL_SAFE_NO_PAD.encode(text),
        3 => text.bytes().map(|byte| format!("{byte:02x}")).collect(),
        4 => text.bytes().map(|byte| format!("%{byte:02X}")).collect(),
        5 => text.chars().map(|c| format!("&#{};", u32::from(c))).collect(),
        _ if is_english => text.chars().map(turned).collect(),
        _ => text.chars().map(|c| format!("\\u{{{:04x}}}", u32::from(c))).collect(),
    }
}

fn turned(c: char) -> char {
    let turn = |first: u8| char::from(first + (c as u8 - first + 13) % 26);
    match c {
        'a'..='z' => turn(b'a'),
        'A'..='Z' => turn(b'A'),
        _ => c,
    }
}

/// Several at once.
pub(super) fn combined(dice: &mut Dice) -> String {
    match dice.below(6) {
        0 => {
            let text: String =
                phrases::overriding_in_english(dice).chars().map(|c| twin(c, dice)).collect();
            sprinkle(&text, dice)
        }
        1 => format!("{}\n{}", shapes::marker(dice), phrases::concealment(dice)),
        2 => STANDARD.encode(shapes::marker(dice)),
        3 => {
            let text = phrases::persistence(dice);
            format!("{}\n{}", sprinkle(&text, dice), shapes::exfiltration(dice))
        }
        4 => format!("{}{}", tags(dice), shapes::fence(dice)),
        _ => format!("\u{202e}{}\u{202c}\n{}", shapes::tool_call(dice), homoglyphs(dice)),
    }
}
