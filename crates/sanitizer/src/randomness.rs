//! Randomness of a value: whether a machine generated it or a person wrote it.

use std::ops::RangeInclusive;

/// Returns the evidence that `value` is random: the natural logarithm of the likelihood ratio of
/// random to written, so above zero it looks random. Each pair of adjacent characters counts, so a
/// longer value gives more evidence.
///
/// Issuers put a prefix before the random part (`acme_live_...`), so the last part may count alone.
/// Such a form is itself some evidence.
pub(crate) fn evidence(value: &str) -> f32 {
    /// Minimum length of a part that is measured alone, in characters.
    const PART: usize = 12;
    /// Evidence of a prefix.
    const PREFIX: f32 = 1.5;
    let whole = evidence_of_pairs(value);
    match value.rsplit(['_', '-', '.']).next() {
        Some(last) if last.len() >= PART && last.len() < value.len() => {
            whole.max(evidence_of_pairs(last) + PREFIX)
        }
        _ => whole,
    }
}

fn evidence_of_pairs(value: &str) -> f32 {
    // About 60 % of the pairs in random letters and digits are surprising, and 8 % of those in
    // names.
    const SURPRISING: f32 = 2.0;
    const USUAL: f32 = -0.83;
    let bytes = value.as_bytes();
    let mut sum = 0.0;
    let mut run = 1;
    for pair in bytes.windows(2) {
        let (a, b) = (Kind::of(pair[0]), Kind::of(pair[1]));
        sum += match (a, b) {
            // A counter, a date or an address is neither random nor a word.
            (Kind::Digit, Kind::Digit) | (Kind::Other, _) | (_, Kind::Other) => 0.0,
            (Kind::Digit, _) | (_, Kind::Digit) => SURPRISING,
            // `getId` changes case at a word, a random value after a letter or two.
            (Kind::Lower, Kind::Upper) if run < 3 => SURPRISING,
            (Kind::Lower, Kind::Upper) => USUAL,
            _ if is_usual(pair) => USUAL,
            _ => SURPRISING,
        };
        run = if a == b { run + 1 } else { 1 };
    }
    if is_hex(bytes) {
        sum.max(HEX)
    } else if is_uuid(bytes) {
        sum.max(UUID)
    } else {
        sum
    }
}

/// Minimum evidence of hexadecimal digits, whose letters form pairs that words have, too.
const HEX: f32 = 12.0;
/// Minimum evidence of a UUID, which is more often an identifier than a credential.
const UUID: f32 = 9.0;

#[derive(PartialEq, Eq, Clone, Copy)]
enum Kind {
    Lower,
    Upper,
    Digit,
    Other,
}

impl Kind {
    fn of(byte: u8) -> Self {
        match byte {
            b'a'..=b'z' => Self::Lower,
            b'A'..=b'Z' => Self::Upper,
            b'0'..=b'9' => Self::Digit,
            _ => Self::Other,
        }
    }
}

/// Whether the value has the length of a digest, in hexadecimal digits with letters among them.
fn is_hex(bytes: &[u8]) -> bool {
    let letters = bytes.iter().filter(|b| b.is_ascii_alphabetic()).count();
    let hex = bytes.iter().all(u8::is_ascii_hexdigit);
    hex && bytes.len() >= 24 && letters >= 4 && bytes.len() - letters >= 4
}

/// Whether the value is `8-4-4-4-12` hexadecimal digits.
fn is_uuid(bytes: &[u8]) -> bool {
    let is_dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    let fits = |(at, byte): (usize, &u8)| {
        if is_dash(at) { *byte == b'-' } else { byte.is_ascii_hexdigit() }
    };
    bytes.len() == 36 && bytes.iter().enumerate().all(fits)
}

/// The letters that follow each letter of the alphabet in 97 % of pairs, counted over the words of
/// English documentation and of identifiers in source code.
const FOLLOWERS: [&str; 26] = [
    "abcdefgiklmnprstuvwxy",    // a
    "abcdefilmorstuy",          // b
    "abcdefghiklmnoprstuvy",    // c
    "abcdefgilmnoprstuvy",      // d
    "abcdefghiklmnopqrstuvwxy", // e
    "abcdefgilmnoprstuy",       // f
    "aeghilmnoprstu",           // g
    "adeimorstuy",              // h
    "abcdefgklmnoprstvxz",      // i
    "aeos",                     // j
    "adeistu",                  // k
    "acdefgiklmnoprstuvy",      // l
    "abcdefilmopstu",           // m
    "abcdefghiklmnoprstuvy",    // n
    "abcdefgiklmnoprstuvwx",    // o
    "acdeghiklmoprstuy",        // p
    "u",                        // q
    "abcdefgiklmnoprstuvwy",    // r
    "abcdefghiklmnoprstuwy",    // s
    "abcdefghilmnoprstuwxy",    // t
    "abcdefgilmnoprst",         // u
    "aceilmos",                 // v
    "aehinors",                 // w
    "acefipt",                  // x
    "aeilmnpst",                // y
    "aei",                      // z
];

/// [`FOLLOWERS`] as bit sets.
static USUAL_PAIRS: [u32; 26] = {
    let mut pairs = [0; 26];
    let mut first = 0;
    while first < FOLLOWERS.len() {
        let letters = FOLLOWERS[first].as_bytes();
        let mut at = 0;
        while at < letters.len() {
            pairs[first] |= 1 << (letters[at] - b'a');
            at += 1;
        }
        first += 1;
    }
    pairs
};

fn is_usual(pair: &[u8]) -> bool {
    let index = |byte: u8| byte.to_ascii_lowercase().wrapping_sub(b'a');
    USUAL_PAIRS[usize::from(index(pair[0]))] >> index(pair[1]) & 1 == 1
}

/// Whether the value has letters of both cases, and digits. A single capital is the first letter of
/// a word.
pub(crate) fn is_mixed(value: &str) -> bool {
    let count = |is: fn(&u8) -> bool| value.bytes().filter(is).count();
    count(u8::is_ascii_lowercase) >= 2
        && count(u8::is_ascii_uppercase) >= 2
        && count(u8::is_ascii_digit) >= 1
}

/// Returns the Shannon entropy, in bits per byte.
pub(crate) fn entropy(value: &str) -> f32 {
    let mut counts = [0_u16; 256];
    for byte in value.bytes().take(MEASURED) {
        counts[usize::from(byte)] += 1;
    }
    let total = value.len().min(MEASURED) as f32;
    let frequency = |&n: &u16| f32::from(n) / total;
    counts.iter().filter(|&&n| n > 0).map(frequency).map(|p| -p * p.log2()).sum()
}

/// Maximum bytes of a value over which its entropy is measured.
const MEASURED: usize = 4096;

/// Whether the value is filler: `xxxxxxxx`, `********`, `abcdefghijkl`, `00010203...`.
pub(crate) fn is_filler(value: &str) -> bool {
    let is_filling = |b: &u8| matches!(b, b'x' | b'X' | b'*' | b'.' | b'_' | b'-');
    let filling = value.bytes().filter(is_filling).count();
    filling * 2 > value.len()
        || is_alphabet(value.as_bytes())
        || is_shuffled_alphabet(value.as_bytes())
        || is_series(value)
}

/// Whether the value has many characters and none twice: an alphabet in any order.
fn is_shuffled_alphabet(bytes: &[u8]) -> bool {
    const LENGTHS: RangeInclusive<usize> = 32..=128;
    let mut seen = 0_u128;
    LENGTHS.contains(&bytes.len())
        && bytes.iter().all(|byte| {
            let bit = 1_u128.checked_shl(u32::from(*byte)).unwrap_or_default();
            let is_new = bit != 0 && seen & bit == 0;
            seen |= bit;
            is_new
        })
}

/// Whether the value is a test vector: hexadecimal bytes with the same difference, as in
/// `00010203...` and `00112233...`.
fn is_series(value: &str) -> bool {
    const MIN_BYTES: usize = 8;
    // Most values are no digits, and need no memory.
    if value.len() < 2 * MIN_BYTES || !value.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return false;
    }
    let Ok(bytes) = hex::decode(&value[..value.len() & !1]) else { return false };
    let difference = |pair: &[u8]| pair[1].wrapping_sub(pair[0]);
    bytes.windows(MIN_BYTES).any(|run| {
        let first = difference(run);
        run.windows(2).all(|pair| difference(pair) == first)
    })
}

/// Whether twelve characters in a row count up, as in the alphabet.
fn is_alphabet(bytes: &[u8]) -> bool {
    const STEPS: usize = 12;
    let steps = |pair: &[u8]| pair[0].checked_add(1) == Some(pair[1]);
    bytes.windows(STEPS).any(|run| run.windows(2).all(steps))
}

/// Whether the value is a template: `${NAME}`, `{{ name }}`, `<name>`, `%{name}`, `$(command)`,
/// `[name]`, `{name}`.
pub(crate) fn is_template(value: &str) -> bool {
    #[rustfmt::skip]
    const PAIRS: [(&str, &str); 8] = [
        ("${", "}"), ("#{", "}"), ("%{", "}"), ("@{", "}"), ("{{", "}}"), ("$(", ")"), ("<", ">"),
        ("%(", ")s"),
    ];
    let is_name_in = |open, close| {
        let inner = value.strip_prefix(open).and_then(|rest: &str| rest.strip_suffix(close));
        inner.is_some_and(|name: &str| {
            name.bytes().all(|b| b.is_ascii_alphabetic() || b"_- ".contains(&b))
        })
    };
    let is_inner = |c: char| c.is_alphanumeric() || " _-.:|?'\"/,".contains(c);
    value.starts_with('$')
        || value.starts_with('<')
        || is_name_in('[', ']')
        || is_name_in('{', '}')
        || PAIRS.iter().any(|(open, close)| {
            value.split_once(open).is_some_and(|(_, rest)| {
                rest.split_once(close).is_some_and(|(inner, _)| inner.chars().all(is_inner))
            })
        })
}

/// Whether the value looks like a password chosen by a person: a word with digits or signs.
pub(crate) fn is_human_chosen(value: &str) -> bool {
    let has_letter = value.chars().any(char::is_alphabetic);
    let has_other = value.bytes().any(|b| b.is_ascii_digit() || b"!@#$%^&*?+=".contains(&b));
    let mut characters: Vec<char> = value.chars().collect();
    characters.sort_unstable();
    characters.dedup();
    has_letter && has_other && characters.len() >= 5 && !is_prose(value)
}

/// Whether the value is a name, path, address or call, which consist of words.
fn is_prose(value: &str) -> bool {
    let is_address = value.contains("://")
        || value.starts_with(['/', '.', '~', '@', '%'])
        || value.starts_with("--");
    let is_mailbox = value.split_once('@').is_some_and(|(_, domain)| {
        domain.contains('.') && domain.bytes().all(|b| b.is_ascii_lowercase() || b == b'.')
    });
    let is_expression = value.contains(['(', ')', '[', ']', '\\', '`'])
        || value.contains("::")
        || value.contains("->");
    let mut words = value.split(['_', '-', '.', '/', ':', ' ']);
    let is_name = words.clone().count() > 1 && words.all(is_word);
    is_address
        || is_mailbox
        || is_expression
        || is_name
        || is_camel_case(value)
        || is_member(value)
        || is_route(value)
        || is_unspaced_sentence(value)
        || is_file_name(value)
}

/// Whether the value is a member of an object: `this.$props.proxyPass`, `SecureRandom.base58`.
fn is_member(value: &str) -> bool {
    let is_part = |part: &str| {
        let name = part.trim_start_matches(['$', '!']);
        let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        !name.is_empty() && name.bytes().all(is_inner) && (is_word(name) || is_camel_case(name))
    };
    value.contains('.') && value.split('.').all(is_part)
}

/// Whether the value is an action of a controller, as frameworks write routes:
/// `account#lost_password`.
fn is_route(value: &str) -> bool {
    let is_name = |part: &str| part.bytes().all(|b| b.is_ascii_lowercase() || b"_/".contains(&b));
    value.split_once('#').is_some_and(|(controller, action)| {
        controller.len() > 1 && action.len() > 1 && is_name(controller) && is_name(action)
    })
}

/// Whether the value is a sentence in a script that does not separate words.
fn is_unspaced_sentence(value: &str) -> bool {
    const MIN_CHARACTERS: usize = 8;
    let is_unspaced = |c: &char| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}');
    value.chars().filter(is_unspaced).count() >= MIN_CHARACTERS
}

/// Whether the value is the name of a file: `AppLayout.e6a6a429.js`.
pub(crate) fn is_file_name(value: &str) -> bool {
    #[rustfmt::skip]
    const EXTENSIONS: [&str; 42] = [
        "c", "cfg", "cjs", "conf", "cpp", "cs", "css", "gif", "go", "gz", "h", "htm", "html", "ico",
        "ini", "java", "jpeg", "jpg", "js", "json", "jsx", "lock", "log", "map", "md", "mjs", "pdf",
        "php", "png", "py", "rb", "rs", "scss", "sh", "sql", "svg", "toml", "ts", "tsx", "txt",
        "xml", "zip",
    ];
    value.rsplit_once('.').is_some_and(|(name, extension)| {
        !name.is_empty() && EXTENSIONS.binary_search(&extension).is_ok()
    })
}

/// Whether the value is a name such as `AtomicU32Provider`: letters of both cases, not random.
fn is_camel_case(value: &str) -> bool {
    let alphanumeric = value.bytes().all(|b| b.is_ascii_alphanumeric());
    let both = value.bytes().any(|b| b.is_ascii_lowercase())
        && value.bytes().skip(1).any(|b| b.is_ascii_uppercase());
    alphanumeric && both && evidence(value) < -3.0
}

/// Whether the part is a word such as `users`, `Sha256`, `v2` or `2024`: letters of one case,
/// perhaps followed by a number.
fn is_word(part: &str) -> bool {
    let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
    let rest = letters.get(1..).unwrap_or_default();
    let one_case = rest.bytes().all(|b| b.is_ascii_lowercase())
        || letters.bytes().all(|b| b.is_ascii_uppercase());
    one_case && part.len() - letters.len() <= 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_values_have_more_evidence_than_names() {
        for random in [
            "9f86d081884c7d659a2feaa0c55ad015",
            "q8Zr2Lm0Tx5vB7nK",
            "hV9-kq2_Zt7Lw4Xs",
            "wjXKCFzOWEPRqhTmmbWtVQ",
            "7d1ab9c7-6bea-2cfb-80a2-9fef8f1e0b12",
        ] {
            assert!(evidence(random) > 5.0, "{random}: {}", evidence(random));
        }
        for written in [
            "AtomicU32Provider42",
            "EcPrivateKeyRfc5915Der",
            "session_token_v2",
            "path/to/key2024",
            "application/x-www-form-urlencoded",
            "2024-01-02T10:11:12",
            "1732176000000",
            "getElementsByClassName",
        ] {
            assert!(evidence(written) < 5.0, "{written}: {}", evidence(written));
        }
    }

    #[test]
    fn prefix_is_evidence() {
        let random = "xlirevvbpftugmpd";
        assert!(evidence(&format!("ac_pat_{random}")) > evidence(random));
        assert!(evidence("ac_pat_configuration") < 0.0);
    }

    #[test]
    fn entropy_is_in_bits_per_byte() {
        assert!((entropy("abab") - 1.0).abs() < 1e-6);
        assert!((entropy("abcdefgh") - 3.0).abs() < 1e-6);
        assert!(entropy("").abs() < 1e-6);
    }

    #[test]
    fn templates_are_recognized() {
        for template in [
            "${DB_PASS1}",
            "a{{ secret1 }}b",
            "<password1>",
            "$DB_PASS1",
            "%(pw1)s",
            "[pass word]",
            "{db-pass}",
        ] {
            assert!(is_template(template), "{template}");
        }
        assert!(!is_template("m{{h}o)p${e]n1") && !is_template("a<b1"));
        assert!(!is_template("{q8Zr2Lm0}"));
    }

    #[test]
    fn filler_is_repeated_characters_or_the_alphabet() {
        for filler in
            ["xxxxxxxx", "********", "AbCabcdefghijklmnopqrstuvwxyz", "000102030405060708090a0b"]
        {
            assert!(is_filler(filler), "{filler}");
        }
        assert!(is_filler("vT4xkZq2LwR8nHb5JdYc9MfUs3GpAe7KoWi6X"));
        assert!(!is_filler("q8Zr2Lm0Tx5vB7nK"));
    }
}
