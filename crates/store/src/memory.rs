//! Memory: records with their citations and duplicates, dialogs, and the bundles that a recall
//! returns.

pub mod bundles;
pub mod citations;
pub mod dialogs;
pub mod duplicates;
pub mod records;
pub mod ties;
pub mod uses;
