//! Growth of the time that parsers of outside text take, for texts that were made to be slow.
//!
//! Such a text may come from a member, a file of a repository or a comment at a provider. So a
//! parser takes linear time, or its input or time is limited. The processor time of the thread is
//! compared for three lengths of text, so other processes on the machine do not count.
//!
//! The tests of several crates and `mc-bench hostile` share the families and the measurement. The
//! tests detect quadratic time; the benchmark measures the exponent of each parser more exactly.

#![allow(dead_code, reason = "each crate uses a part")]

#[path = "growth/families.rs"]
pub mod families;
#[path = "growth/measure.rs"]
pub mod measure;
#[path = "growth/special.rs"]
pub mod special;

use families::Family;
use measure::{fitted_exponent, thread_seconds};

/// Factors of the lengths that are compared.
const FACTORS: [usize; 3] = [1, 2, 8];
/// Greatest exponent: 1 is linear, 2 is quadratic. The margin is for caches of the processor.
const MAX_EXPONENT: f64 = 1.6;
/// Exponent at which a measurement ends after a shorter text, before longer ones take minutes.
const ABORT_EXPONENT: f64 = 2.4;
/// Shorter times are not compared, in seconds.
const NEGLIGIBLE: f64 = 0.005;
/// Measurements of which one has to be linear.
const ATTEMPTS: usize = 5;
/// Runs of the shortest text in a measurement: the first may compile expressions. Longer texts run
/// once, since a longer time there can only fail a measurement, which is then repeated.
const RUNS: usize = 3;

/// Checks that the time of a parser is linear in the text, for each family, from `bytes` on.
///
/// # Panics
/// If the time for a family grows faster.
pub fn assert_linear(parser: &str, bytes: usize, families: &[Family], parse: impl Fn(&str)) {
    for family in families {
        let texts = FACTORS.map(|factor| family.text(bytes * factor));
        let mut shortest = [f64::INFINITY; FACTORS.len()];
        let is_linear = (0..ATTEMPTS).any(|_| is_linear(&texts, &mut shortest, &parse));
        assert!(is_linear, "{parser}: the time for {} grows faster than the text", family.name);
    }
}

/// Returns whether the times are linear. `shortest` has the shortest times so far, because other
/// load can only lengthen a time.
fn is_linear(texts: &[String], shortest: &mut [f64], parse: &impl Fn(&str)) -> bool {
    for (index, text) in texts.iter().enumerate() {
        let runs = if index == 0 { RUNS } else { 1 };
        shortest[index] = (0..runs).map(|_| seconds(text, parse)).fold(shortest[index], f64::min);
        let is_slow = shortest[index] > NEGLIGIBLE;
        if is_slow && exponent(&texts[..=index], shortest) > ABORT_EXPONENT {
            return false;
        }
    }
    shortest[texts.len() - 1] < NEGLIGIBLE || exponent(texts, shortest) <= MAX_EXPONENT
}

fn exponent(texts: &[String], seconds: &[f64]) -> f64 {
    let points = texts.iter().zip(seconds).map(|(text, seconds)| (text.len(), *seconds));
    fitted_exponent(&points.collect::<Vec<_>>())
}

fn seconds(text: &str, parse: &impl Fn(&str)) -> f64 {
    let start = thread_seconds();
    parse(text);
    thread_seconds() - start
}
