//! The collection of all bytes that a service and its clients wrote or sent, and the search in it.

use std::collections::BTreeSet;
use std::path::Path;

use aho_corasick::AhoCorasick;

use super::canaries::Canary;

/// Recorded bytes with their places.
#[derive(Default)]
pub struct Witness {
    seen: Vec<(String, Vec<u8>)>,
}

impl Witness {
    /// Records bytes of a place.
    pub fn note(&mut self, place: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.seen.push((place.into(), bytes.into()));
    }

    /// Records every file below a directory, with its name.
    pub fn note_files(&mut self, directory: &Path) {
        for entry in std::fs::read_dir(directory).expect("a folder") {
            let path = entry.expect("an entry").path();
            let place = path.display().to_string();
            self.note(format!("the name of {place}"), place.as_bytes());
            let kind = path.symlink_metadata().expect("metadata").file_type();
            if kind.is_dir() {
                self.note_files(&path);
            } else if kind.is_file() {
                self.note(place, std::fs::read(&path).expect("a file"));
            }
        }
    }

    /// Counts the bytes of places with this prefix.
    pub fn bytes_in(&self, prefix: &str) -> usize {
        let places = self.seen.iter().filter(|(place, _)| place.starts_with(prefix));
        places.map(|(_, bytes)| bytes.len()).sum()
    }

    /// Whether places with this prefix contain a text.
    pub fn holds(&self, prefix: &str, text: &str) -> bool {
        let finder = AhoCorasick::new([text]).expect("a pattern");
        let mut places = self.seen.iter().filter(|(place, _)| place.starts_with(prefix));
        places.any(|(_, bytes)| finder.is_match(bytes))
    }

    /// Returns the places of canaries, in plain text or hexadecimal, in any case.
    pub fn find(&self, canaries: &[Canary]) -> BTreeSet<String> {
        let marks =
            || canaries.iter().flat_map(|canary| canary.marks.iter().map(move |m| (canary, m)));
        let patterns = marks().flat_map(|(_, mark)| [mark.clone(), hex::encode(mark)]);
        let finder = AhoCorasick::builder().ascii_case_insensitive(true).build(patterns);
        let finder = finder.expect("patterns");
        let owners: Vec<&Canary> = marks().flat_map(|(canary, _)| [canary, canary]).collect();
        let in_place = |(place, bytes): &(String, Vec<u8>)| {
            let found = finder.find_overlapping_iter(bytes);
            found
                .map(|hit| {
                    let around = hit.start().saturating_sub(60)..(hit.end() + 20).min(bytes.len());
                    let what = &owners[hit.pattern().as_usize()].what;
                    format!("{what}\n    in {place}: {}", bytes[around].escape_ascii())
                })
                .collect::<Vec<_>>()
        };
        self.seen.iter().flat_map(in_place).collect()
    }
}

#[test]
fn witness_finds_a_canary_in_every_encoding() {
    let mark = "kT9xvQ2mLpZ7".to_owned();
    let canary =
        Canary { what: "a save".to_owned(), text: mark.clone(), marks: vec![mark.clone()] };
    for bytes in [mark.clone(), mark.to_lowercase(), hex::encode(&mark), format!("\0\u{1}{mark}\0")]
    {
        let mut witness = Witness::default();
        witness.note("somewhere", bytes);
        assert_eq!(witness.find(std::slice::from_ref(&canary)).len(), 1);
    }
    let mut witness = Witness::default();
    witness.note("elsewhere", &mark.as_bytes()[1..]);
    assert!(witness.find(&[canary]).is_empty());
}
