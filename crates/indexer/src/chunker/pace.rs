//! The processor time that parsing may take, relative to the speed of this machine.

use std::hint::black_box;
use std::sync::LazyLock;
use std::time::Duration;

use mc_processor_time::thread_time;
use tree_sitter::Parser;

use super::outline::outline_of;
use crate::grammar;
use crate::text::Lines;

/// Ordinary code, by which the speed is measured.
const SAMPLE: &str = include_str!("boundaries.rs");
/// Measurements, of which the fastest counts: the first one reads the tables of the grammar, and
/// other programs may delay some.
const RUNS: usize = 3;
/// Shortest time of the sample, for a clock that counts in ticks.
const MIN_TIME: Duration = Duration::from_micros(100);
/// Maximum processor time of a file, as a multiple of the time of the sample for the same length.
/// Of 45,700 files of public code in 12 languages, 4 need more (the fastest of three runs): 2 of
/// them have syntax errors, and 2 are generated tables.
const FACTOR: u32 = 4;
/// Bytes that are added to the length of a text, because a short text varies more.
pub const EXTRA_BYTES: usize = 4096;

/// Returns the processor time after which parsing code of this length is given up.
///
/// Some texts take a grammar quadratic time. Because the limit is linear in the length, the total
/// time of all files is linear, too.
pub fn parse_limit(bytes: usize) -> Duration {
    static OF_SAMPLE: LazyLock<Duration> = LazyLock::new(time_of_sample);
    let share = (bytes + EXTRA_BYTES) as f64 / SAMPLE.len() as f64;
    (FACTOR * *OF_SAMPLE).mul_f64(share)
}

/// Measures the processor time to parse the sample and to read its outline.
fn time_of_sample() -> Duration {
    let grammar = grammar::find("rust").expect("a grammar of its language");
    let mut parser = Parser::new();
    parser.set_language(&grammar.language).expect("a grammar of this version of tree-sitter");
    let lines = Lines::of(SAMPLE);
    let mut time = || {
        let start = thread_time();
        let tree = parser.parse(SAMPLE, None).expect("a tree, because nothing limits this parser");
        black_box(outline_of(&tree, grammar, SAMPLE, &lines));
        thread_time().saturating_sub(start)
    };
    (0..RUNS).map(|_| time()).min().unwrap_or_default().max(MIN_TIME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_is_linear_in_the_length() {
        let lengths = [0, 1 << 20, 2 << 20];
        let [none, one, two] = lengths.map(|bytes| parse_limit(bytes).as_secs_f64());
        let added = one - none;
        assert!(none > 0.0 && added > 0.0);
        assert!((two - one - added).abs() < added * 1e-6);
    }
}
