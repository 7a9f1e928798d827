#![doc = include_str!("../README.md")]

mod check;
mod mask;
mod rules;
mod sanitized;
mod scan;

pub use mask::{Find, Masked, mask};
pub use sanitized::Sanitized;
