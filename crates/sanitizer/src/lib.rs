#![doc = include_str!("../README.md")]

mod check;
mod mask;
mod personal;
mod rules;
mod sanitized;
mod scan;

pub use mask::{Class, Find, Masked, Profile, mask, mask_with};
pub use sanitized::Sanitized;
