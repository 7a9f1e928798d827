#![doc = include_str!("../README.md")]

pub mod analyser;
mod error;
pub mod glob;
mod history;
pub mod index;
pub mod legs;
pub mod models;
pub mod names;
mod outcome;
pub mod query;
pub mod rank;
mod search;

pub use error::Error;
pub use index::{Freshness, KeywordIndex, Phase, Status};
pub use legs::Leg;
pub use models::{ActiveModel, ActiveModels};
pub use outcome::{Explain, Hit, Outcome};
pub use query::{Options, Query};
pub use rank::rerank::standing;
pub use rank::step::{Step, Without};
pub use rank::{Adjustment, LegRank};
pub use search::{MIN_DEPTH, SearchContext, search, search_all};
