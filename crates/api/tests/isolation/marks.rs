//! Owners of texts and ids, and the search for those of others in a response.
//!
//! Everything in the world belongs to an *owner*: a project, a team or a person. Each text has a
//! mark that identifies its owner, so a long enough part of a response shows its origin.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::BitOr;

use rand::Rng;
use rand::rngs::StdRng;
use uuid::Uuid;

/// Prefix of all marks.
const PREFIX: &[u8] = b"zq";
/// Digits of a mark that must stand behind its place: by chance they don't, in a secret, say.
const TELLING_DIGITS: usize = 6;
/// Digits of a whole mark.
const DIGITS: usize = 10;
/// Letters that say the place.
const LETTERS: u8 = 26;
/// What stands before the nonce of a block of untrusted text, and the length of the nonce.
const BLOCK: &[u8] = b"recalled ";
const NONCE_BYTES: usize = 16;

/// A set of places.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Places(u128);

impl Places {
    pub const NONE: Self = Self(0);
    pub const ALL: Self = Self(u128::MAX);

    /// The one with this number, below 128.
    pub fn one(number: usize) -> Self {
        assert!(number < 128, "no more than 128 places");
        Self(1 << number)
    }

    pub fn holds(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    pub fn all(places: impl IntoIterator<Item = Self>) -> Self {
        places.into_iter().fold(Self::NONE, |all, one| all | one)
    }
}

impl BitOr for Places {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries((0..128).filter(|n| self.0 >> n & 1 == 1)).finish()
    }
}

/// A new mark of the place with this number.
pub fn mark(rng: &mut StdRng, place: usize) -> String {
    let place = u8::try_from(place).expect("below 128");
    let letters = [b'a' + place / LETTERS, b'a' + place % LETTERS].map(char::from);
    let digits = rng.random::<u64>() & ((1 << (4 * DIGITS)) - 1);
    format!("zq{}{}{digits:010x}", letters[0], letters[1])
}

/// An id that the seed alone decides, of the version that the service makes.
pub fn id(rng: &mut StdRng) -> Uuid {
    uuid::Builder::from_random_bytes(rng.random()).with_version(uuid::Version::SortRand).into_uuid()
}

/// Returns the marks in the bytes with their owners, without those that are in `held` too.
pub fn marks_in(bytes: &[u8], held: &[u8]) -> Vec<(Places, String)> {
    let held: HashSet<&[u8]> = found(held).map(|(_, mark)| mark).collect();
    let strange = found(bytes).filter(|(_, mark)| !held.iter().any(|held| held.starts_with(mark)));
    strange.map(|(place, mark)| (place, String::from_utf8_lossy(mark).into_owned())).collect()
}

fn found(bytes: &[u8]) -> impl Iterator<Item = (Places, &[u8])> {
    let starts = bytes.windows(PREFIX.len()).enumerate().filter(|(_, two)| *two == PREFIX);
    starts.filter_map(|(at, _)| {
        let rest = &bytes[at + PREFIX.len()..];
        let letter = |n: usize| rest.get(n)?.checked_sub(b'a').filter(|n| *n < LETTERS);
        let number = usize::from(letter(0)?) * usize::from(LETTERS) + usize::from(letter(1)?);
        let digits = rest[2..].iter().take(DIGITS);
        let digits = digits.take_while(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')).count();
        let is_mark = digits >= TELLING_DIGITS && number < 128 && !is_in_nonce(bytes, at);
        is_mark.then(|| (Places::one(number), &bytes[at..at + PREFIX.len() + 2 + digits]))
    })
}

/// Whether this place is in the nonce of a block of untrusted text. The nonce is random, and has
/// the shape of a mark about once in a hundred thousand blocks.
fn is_in_nonce(bytes: &[u8], at: usize) -> bool {
    let may_start = (at + 1).saturating_sub(NONCE_BYTES)..=at;
    may_start.into_iter().any(|start| {
        let nonce = bytes.get(start..start + NONCE_BYTES).unwrap_or_default();
        bytes[..start].ends_with(BLOCK)
            && bytes.get(start + NONCE_BYTES) == Some(&b'>')
            && nonce.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    })
}

/// The ids that stand in the bytes and not in `held`.
pub fn ids_in(bytes: &[u8], held: &[u8]) -> HashSet<Uuid> {
    let mut ids = ids(bytes);
    for id in ids_of(held) {
        ids.remove(&id);
    }
    ids
}

fn ids(bytes: &[u8]) -> HashSet<Uuid> {
    ids_of(bytes).collect()
}

fn ids_of(bytes: &[u8]) -> impl Iterator<Item = Uuid> {
    bytes.windows(36).filter_map(|text| {
        let is_shaped = text[8] == b'-' && text[13] == b'-' && text[18] == b'-' && text[23] == b'-';
        if is_shaped { Uuid::try_parse_ascii(text).ok() } else { None }
    })
}

/// Owners by id.
pub type Owners = HashMap<Uuid, Places>;

#[test]
fn a_mark_is_found_truncated_and_not_in_its_own_request() {
    use rand::SeedableRng as _;
    let mark = mark(&mut StdRng::seed_from_u64(1), 27);
    let text = format!("snippet: {}", &mark[..10]);
    let found = marks_in(text.as_bytes(), b"");
    assert_eq!(found, [(Places::one(27), mark[..10].to_owned())]);
    assert_eq!(marks_in(text.as_bytes(), mark.as_bytes()), []);
    assert_eq!(marks_in(mark.as_bytes(), text.as_bytes()).len(), 1, "it held only a part");
    assert_eq!(marks_in(b"zqab12 zq zqAB0123456789", b""), []);
}

#[test]
fn the_nonce_of_a_block_is_no_mark() {
    let block = b"<recalled 4gzqep1e5a517fc5>\n| a\n</recalled 4gzqep1e5a517fc5>";
    assert_eq!(marks_in(block, b""), []);
    for text in ["recalled 4gzqep1e5a517fc5 ", "<recalled 4gzqep1e5a517fc>", "4gzqep1e5a517fc5>"] {
        assert_eq!(marks_in(text.as_bytes(), b"").len(), 1, "{text}");
    }
    let quoted = "<recalled 4g0000000000abcd>\n| zqep1e5a517fc5";
    assert_eq!(marks_in(quoted.as_bytes(), b"").len(), 1, "a text in the block");
}
