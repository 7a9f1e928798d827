//! Memory: records with their citations and duplicates, dialogs, reasoning schemas, the bundles
//! that a recall returns, usage data, figures about the use, and requests to chat models.

pub mod bundles;
pub mod chat_requests;
pub mod citations;
pub mod dialogs;
pub mod duplicates;
pub mod figures;
pub mod prompts;
pub mod records;
pub mod sgr_schemas;
pub mod ties;
pub mod usage;
pub mod uses;
