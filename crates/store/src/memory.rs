//! Memory: records with their citations and duplicates, dialogs, the bundles that a recall returns,
//! and usage data.

pub mod bundles;
pub mod citations;
pub mod dialogs;
pub mod duplicates;
pub mod records;
pub mod ties;
pub mod usage;
pub mod uses;
