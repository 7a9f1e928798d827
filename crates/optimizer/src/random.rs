//! Stable hashes, and random numbers of a seed. Neither depends on the version of `rand`: only the
//! stream of `ChaCha` is used, which its crate keeps stable.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use sha2::{Digest, Sha256};

/// A random stream that a seed and a purpose determine, on every machine.
#[derive(Debug, Clone)]
pub struct Random(ChaCha8Rng);

impl Random {
    /// Creates the stream of a seed for one purpose. Streams of different purposes are independent.
    pub fn new(seed: u64, purpose: &str) -> Self {
        Self(ChaCha8Rng::from_seed(digest(&[&seed.to_string(), purpose])))
    }

    /// Returns a number in `0..end`, or 0 if `end` is 0. The bias is below `end / 2^64`.
    pub fn below(&mut self, end: usize) -> usize {
        let scaled = (u128::from(self.0.next_u64()) * end as u128) >> 64;
        usize::try_from(scaled).unwrap_or(0)
    }

    /// Returns a number in `0.0..1.0`.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number with mean 0 and variance 1 that is close to normal: the sum of twelve
    /// uniform numbers. Unlike functions such as `ln`, sums are equal on every machine.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    /// Brings `items` into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// Returns the hash of `parts`. It is the same on every machine and in every version; parts with
/// another division are other parts.
pub fn stable_hash(parts: &[&str]) -> u64 {
    let digest = digest(parts);
    digest.iter().take(8).fold(0, |hash, byte| (hash << 8) | u64::from(*byte))
}

fn digest(parts: &[&str]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_of_a_seed_is_the_same_in_every_version() {
        let mut random = Random::new(1, "test");
        let numbers: Vec<usize> = (0..8).map(|_| random.below(1000)).collect();
        assert_eq!(numbers, [957, 489, 241, 868, 522, 740, 473, 595]);
        assert_eq!(stable_hash(&["project", "dev"]), 5_809_418_856_040_468_742);
    }

    #[test]
    fn purposes_and_divisions_of_parts_are_independent() {
        assert_ne!(Random::new(1, "a").bits(), Random::new(1, "b").bits());
        assert_ne!(stable_hash(&["ab", "c"]), stable_hash(&["a", "bc"]));
    }

    #[test]
    fn numbers_are_spread_evenly() {
        let mut random = Random::new(7, "test");
        let mut counts = [0_usize; 10];
        (0..10_000).for_each(|_| counts[random.below(10)] += 1);
        assert!(counts.iter().all(|count| (900..1100).contains(count)), "{counts:?}");
        let normal: Vec<f64> = (0..10_000).map(|_| random.normal()).collect();
        let mean = normal.iter().sum::<f64>() / 10_000.0;
        let variance = normal.iter().map(|x| x * x).sum::<f64>() / 10_000.0;
        assert!(mean.abs() < 0.04 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..50).collect();
        Random::new(3, "test").shuffle(&mut items);
        assert_ne!(items, (0..50).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..50).collect::<Vec<_>>());
    }
}
