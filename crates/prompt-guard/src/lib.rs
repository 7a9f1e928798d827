#![doc = include_str!("../README.md")]

mod encoded;
mod fold;
mod hidden;
mod inspect;
mod lexicon;
mod links;
mod markers;
mod neutral;
#[cfg(feature = "payloads")]
pub mod payloads;
mod quotes;
mod rules;
mod suspicion;
mod tools;

pub use inspect::{inspect, is_clean};
pub use neutral::neutral;
pub use suspicion::{FLAG, Family, QUARANTINE, Suspicion};
