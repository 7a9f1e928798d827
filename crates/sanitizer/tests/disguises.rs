//! Tokens of many vendors in many disguises: none may pass.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mc_sanitizer::mask;
use mc_sanitizer::visible_text::{Shown, pieces};

/// Digits and letters of both cases, generated for these tests. Tokens are assembled here, so that
/// other scanners find none in the sources.
const RANDOM: &str = "q8Zr2Lm0Tx5vB7nKc3Wd9Yh4Jf6Gs1Pa0QeRuT3kLw8Vb5Mz2Xc7Nj4Hg9Fd6Sa1Po0IyE5tRq";
const HEX: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const UPPER: &str = "Q8ZR2LM5TX7VB3NKC4WD";

/// Returns the vendors' names, each with a token.
fn tokens() -> Vec<(&'static str, String)> {
    let of = |parts: &[&str]| parts.concat();
    let pem = |word: &str| format!("-----{word} PRIVATE KEY-----");
    vec![
        ("github", of(&["gh", "p_", &RANDOM[..36]])),
        ("gitlab", of(&["gl", "pat-", &RANDOM[..20]])),
        ("aws", of(&["AK", "IA", &UPPER[..16]])),
        ("aws-pair", format!("AK{}:aws_secret_access_key={}", &RANDOM[..9], &RANDOM[..40])),
        ("stripe", of(&["sk", "_live_", &RANDOM[..24]])),
        ("slack", of(&["xo", "xb-123456789012-", &RANDOM[..24]])),
        ("openai", of(&["sk", "-proj-", &RANDOM[..60]])),
        ("anthropic", of(&["sk", "-ant-api03-", RANDOM, &RANDOM[..21]])),
        ("google", of(&["AI", "za", &RANDOM[..35]])),
        ("npm", of(&["np", "m_", &RANDOM[..36]])),
        ("pypi", of(&["py", "pi-AgEIcHlwaS5vcmc", &RANDOM[..60]])),
        ("sendgrid", of(&["S", "G.", &RANDOM[..22], ".", &RANDOM[20..63]])),
        ("twilio", of(&["S", "K", &HEX[..32]])),
        ("azure", of(&["q8Z", "0Q~", &RANDOM[..34]])),
        ("jwt", of(&["ey", "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.", &RANDOM[..43]])),
        ("private-key", of(&[&pem("BEGIN"), "\n", &RANDOM[..64], "\n", &pem("END")])),
    ]
}

/// Returns the text with `shown` for each of its ASCII characters.
fn each(text: &str, shown: impl Fn(char) -> String) -> String {
    text.chars().map(shown).collect()
}

/// Returns the token with `inside` after its second and its tenth character.
fn split(token: &str, inside: &str) -> String {
    [&token[..2], inside, &token[2..10], inside, &token[10..]].concat()
}

fn full_width(c: char) -> String {
    let wide = char::from_u32(u32::from(c) + 0xFEE0).filter(|_| c.is_ascii_graphic());
    wide.unwrap_or(c).to_string()
}

/// Returns the tag character of an ASCII character.
fn tag(c: char) -> String {
    let tag = char::from_u32(u32::from(c) + 0xE0000).filter(|_| !c.is_control());
    tag.unwrap_or(c).to_string()
}

/// Returns the mathematical italic form of a letter. That of `h` is older than the others.
fn italic(c: char) -> String {
    let first = match c {
        'h' => return "\u{210e}".to_owned(),
        'A'..='Z' => 0x1d434 - u32::from('A'),
        'a'..='z' => 0x1d44e - u32::from('a'),
        _ => return c.to_string(),
    };
    char::from_u32(first + u32::from(c)).expect("a letter").to_string()
}

/// A way to write a token.
type Disguise = fn(&str) -> String;

const DISGUISES: &[(&str, Disguise)] = &[
    ("plain", str::to_owned),
    ("after an escaped line break", |token| format!("\"first\\n{token}\"")),
    ("after an escaped tab", |token| format!("\"first\\t{token}\\tlast\"")),
    ("after an escaped line break in escaped text", |token| format!("{{\\\"a\\\\n{token}\\\"}}")),
    ("after an escaped sign", |token| format!("\"x\\u003d{token}\"")),
    ("after a hexadecimal escape", |token| format!("'x\\x3d{token}'")),
    ("in a color", |token| format!("\u{1b}[31m{token}\u{1b}[0m")),
    ("after a word in a color", |token| format!("key\u{1b}[1;32m{token}\u{1b}[0mend")),
    ("in a written color", |token| format!("echo \"\\033[31m{token}\\e[0m\"")),
    ("in a color without its escape", |token| format!("[32m{token}[0m")),
    ("in a link of a terminal", |token| {
        format!("\u{1b}]8;;https://a.b\u{7}{token}\u{1b}]8;;\u{7}")
    }),
    ("in a link of a terminal with parameters", |token| {
        format!("\u{1b}]8;id=1;https://a.b\u{1b}\\{token}\u{1b}]8;;\u{1b}\\")
    }),
    ("with links of a terminal inside", |token| split(token, "\u{1b}]8;;https://a.b\u{1b}\\")),
    ("in a title of a terminal with zero-width spaces", |token| {
        format!("\u{1b}]0;title {}\u{7}", split(token, "\u{200b}"))
    }),
    ("in a color of C1 controls", |token| format!("key\u{9b}31m{token}\u{9b}0mend")),
    ("with C1 controls inside", |token| split(token, "\u{9b}0m")),
    ("with titles of C1 controls inside", |token| split(token, "\u{9d}0;title\u{9c}")),
    ("with overstrikes", |token| each(token, |c| format!("{c}\u{8}{c}"))),
    ("underlined by overstrikes", |token| each(token, |c| format!("_\u{8}{c}"))),
    ("with colors inside", |token| split(token, "\u{1b}[0m")),
    ("with zero-width spaces inside", |token| split(token, "\u{200b}")),
    ("with soft hyphens inside", |token| split(token, "\u{ad}")),
    ("with word joiners inside", |token| split(token, "\u{2060}")),
    ("with joiners between all characters", |token| each(token, |c| format!("{c}\u{200d}"))),
    ("with selectors after all characters", |token| each(token, |c| format!("{c}\u{fe0f}"))),
    ("with selectors of ideographs inside", |token| split(token, "\u{e0101}")),
    ("with Mongolian selectors inside", |token| split(token, "\u{180b}")),
    ("with Hangul fillers inside", |token| split(token, "\u{3164}\u{115f}\u{1160}\u{ffa0}")),
    ("with grapheme joiners inside", |token| split(token, "\u{34f}")),
    ("in tag characters", |token| each(token, tag)),
    ("with tag characters inside", |token| split(token, "\u{e0041}\u{e007f}")),
    ("in full-width characters", |token| each(token, full_width)),
    ("in full-width characters with selectors", |token| {
        each(token, |c| full_width(c) + "\u{fe0f}")
    }),
    ("in italic letters", |token| each(token, italic)),
    ("in base64", |token| STANDARD.encode(token)),
    ("in base64 twice", |token| STANDARD.encode(STANDARD.encode(token))),
    ("in hexadecimal digits", |token| each(token, |c| format!("{:02x}", u32::from(c)))),
    ("in percent-encoding", |token| each(token, |c| format!("%{:02X}", u32::from(c)))),
    ("in UTF-16 escapes", |token| each(token, |c| format!("\\u{:04x}", u32::from(c)))),
    ("in byte escapes", |token| each(token, |c| format!("\\x{:02x}", u32::from(c)))),
    ("in UTF-16", |token| each(token, |c| format!("{c}\0"))),
    ("in character references", |token| each(token, |c| format!("&#{};", u32::from(c)))),
    ("in character references with zeros", |token| {
        each(token, |c| format!("&#{:07};", u32::from(c)))
    }),
    ("in character references without their ends", |token| {
        each(token, |c| format!("&#{}", u32::from(c)))
    }),
    ("in hexadecimal references without their ends", |token| {
        each(token, |c| format!("&#x00{:x}", u32::from(c)))
    }),
    ("in quotes of HTML", |token| format!("x=&quot;{token}&quot;")),
    ("in quoted-printable", |token| each(token, |c| format!("={:02X}", u32::from(c)))),
    ("after an equals sign in quoted-printable", |token| format!("x=3D{token}")),
    ("in base32", base32),
    ("in base32 of lower case", |token| base32(token).to_lowercase()),
    ("in a dump", dump),
    ("in a dump of words", words),
    ("in a dump of octal words", octal_words),
    ("in a dump of bytes without offsets", bytes_without_offsets),
    ("in bytes with colons", |token| {
        each(token, |c| format!("{:02x}:", u32::from(c))).trim_end_matches(':').to_owned()
    }),
];

fn base32(text: &str) -> String {
    let bits: String = text.bytes().map(|byte| format!("{byte:08b}")).collect();
    let digit = |bits: &[u8]| {
        let bits = std::str::from_utf8(bits).expect("zeros and ones");
        let index = usize::from_str_radix(&format!("{bits:0<5}"), 2).expect("five bits");
        char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[index])
    };
    bits.as_bytes().chunks(5).map(digit).collect()
}

/// Returns the text as `xxd` prints it.
fn dump(text: &str) -> String {
    let line = |(index, bytes): (usize, &[u8])| {
        let words = bytes.chunks(2).map(hex_of).collect::<Vec<_>>().join(" ");
        let shown: String = bytes.iter().map(|byte| char::from(*byte)).collect();
        format!("{:08x}: {words:39}  {}\n", index * 16, shown.replace('\n', "."))
    };
    text.as_bytes().chunks(16).enumerate().map(line).collect()
}

/// Returns the text as `od -x` prints it. The first byte of a word is its last two digits.
fn words(text: &str) -> String {
    od(text, |word| format!(" {word:04x}"))
}

/// Returns the text as `od` prints it without options.
fn octal_words(text: &str) -> String {
    od(text, |word| format!(" {word:06o}"))
}

fn od(text: &str, shown: fn(u16) -> String) -> String {
    let word = |pair: &[u8]| u16::from_le_bytes([pair[0], *pair.get(1).unwrap_or(&0)]);
    let line = |(index, bytes): (usize, &[u8])| {
        let words: String = bytes.chunks(2).map(word).map(shown).collect();
        format!("{:07o}{words}\n", index * 16)
    };
    let lines: String = text.as_bytes().chunks(16).enumerate().map(line).collect();
    format!("{lines}{:07o}\n", text.len())
}

/// Returns the text as `od -An -tx1` prints it.
fn bytes_without_offsets(text: &str) -> String {
    let line = |bytes: &[u8]| bytes.iter().map(|byte| format!(" {byte:02x}")).collect::<String>();
    text.as_bytes().chunks(16).map(|bytes| line(bytes) + "\n").collect()
}

fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Length of a part of a token that no mask may leave.
const LENGTH: usize = 14;

/// Returns all parts of an ASCII text.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    (LENGTH..=text.len()).map(move |end| &text[end - LENGTH..end])
}

/// Returns the last part of each line of the text.
fn tails(text: &str) -> Vec<&str> {
    let tail = |line: &'_ str| {
        let start = line.char_indices().rev().nth(LENGTH - 1).map(|(at, _)| at);
        start.map(|at| at..line.len())
    };
    text.lines().filter_map(|line| tail(line).map(|range| &line[range])).collect()
}

#[test]
fn no_token_passes_in_any_disguise() {
    let mut passed = Vec::new();
    for (vendor, token) in tokens() {
        // Without the name of the value, and without the frame of a key block.
        let secret = token.lines().nth(1).unwrap_or(&token).rsplit('=').next().unwrap_or(&token);
        for (disguise, write) in DISGUISES {
            let text = format!("before {} after\n", write(&token));
            let masked = mask(&text).text.into_string();
            let visible: String = pieces(&masked)
                .filter_map(|piece| match piece.shown {
                    Shown::Char(c) => Some(c),
                    Shown::Sequence => None,
                })
                .collect();
            let written = write(secret);
            let is_left = masked == text
                || parts(secret).any(|part| visible.contains(part))
                || tails(&written).iter().any(|tail| masked.contains(tail) && !is_frame(tail));
            if is_left {
                passed.push(format!("{vendor} {disguise}: {masked:?}"));
            }
            assert_eq!(masked.matches('\n').count(), text.matches('\n').count(), "{masked}");
            assert_eq!(mask(&masked).text.as_str(), masked, "masking again");
        }
    }
    assert!(passed.is_empty(), "{} pass:\n{}", passed.len(), passed.join("\n"));
}

/// Whether the end of a written token is the frame around it.
fn is_frame(tail: &str) -> bool {
    ["\\e[0m", "[0m", "\u{1b}", "&quot;", "\"", "\\tlast"].iter().any(|frame| tail.contains(frame))
}

#[test]
fn encoded_texts_are_masked_across_their_lines() {
    let token = &tokens()[0].1;
    let long = format!("# settings of the service, copied from the old machine\nTOKEN={token}\n");
    let wrap = |text: String| {
        let lines = text.as_bytes().chunks(76).map(String::from_utf8_lossy);
        lines.collect::<Vec<_>>().join("\n")
    };
    let hex = wrap(hex_of(long.as_bytes()));
    let base64 = wrap(STANDARD.encode(&long));
    let base32 = wrap(base32(&long));
    let lower = base32.to_lowercase();
    let dumps = [dump, words, octal_words, bytes_without_offsets].map(|write| write(&long));
    for text in [hex, base64, base32, lower].iter().chain(&dumps) {
        let masked = mask(&format!("data:\n{text}\n")).text.into_string();
        // `od` ends with a line that has an offset only.
        let last = text.lines().rfind(|line| line.len() > 8).expect("a line");
        assert!(!masked.contains(&last[..last.len().min(20)]), "{masked}");
    }
    let (head, tail) = token.split_at(20);
    let mail =
        format!("Please keep this for the machine in Cologne, many thanks: {head}=\n{tail}\n");
    assert!(!mask(&mail).text.as_str().contains(tail), "{mail}");
}
