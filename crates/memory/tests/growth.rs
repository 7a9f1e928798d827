//! Distilling and comparing notes takes linear time, for any text.

use std::hint::black_box;

#[path = "../../../tests/growth.rs"]
mod growth;

use growth::assert_linear;
use growth::families::texts;
use mc_domain::RecordKind;
use mc_memory::distill::{self, Raw};
use mc_memory::judge::{ParsedNote, reject};
use mc_memory::normalize::normalize;
use mc_memory::simhash::simhash;
use mc_memory::text::{cut, sentences, tokenize};

const BYTES: usize = 8 * 1024;
/// Without its markup, a text of this length is still longer than one that a record holds whole:
/// only a longer one is ranked by its sentences, which takes more time for each byte.
const DISTILLED_BYTES: usize = 2 * BYTES;

#[test]
fn note_is_distilled_in_linear_time() {
    assert_linear("distill", DISTILLED_BYTES, &texts(), |text| {
        black_box(distill::distill(&Raw::of_text(RecordKind::Fact, text)));
    });
}

#[test]
fn text_is_condensed_in_linear_time() {
    assert_linear("condense", BYTES, &texts(), |text| {
        black_box(distill::condense(text, 300));
    });
}

#[test]
fn note_is_read_for_comparison_in_linear_time() {
    type Parser = (&'static str, fn(&str));
    let parsers: [Parser; 7] = [
        ("tokenize", |text| drop(black_box(tokenize(text)))),
        ("sentences", |text| _ = black_box(sentences(text).count())),
        ("cut", |text| drop(black_box(cut(text, text.len() / 2)))),
        ("normalize", |text| drop(black_box(normalize(text)))),
        ("simhash", |text| _ = black_box(simhash(text))),
        ("note", |text| drop(black_box(ParsedNote::read(text)))),
        ("reject", |text| _ = black_box(reject(text))),
    ];
    for (name, parse) in parsers {
        assert_linear(name, BYTES, &texts(), parse);
    }
}
