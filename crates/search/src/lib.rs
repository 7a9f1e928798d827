#![doc = include_str!("../README.md")]

pub mod analyzer;
mod error;
pub mod glob;
mod history;
pub mod index;
pub mod models;
pub mod names;
mod outcome;
pub mod query;
pub mod rank;
pub mod retrievers;
mod search;

pub use error::Error;
pub use index::{Freshness, KeywordIndex, Phase, Status};
pub use models::{ActiveModel, ActiveModels};
pub use outcome::{Explain, Hit, Outcome};
pub use query::{Options, Query};
pub use rank::rerank::standing;
pub use rank::step::{Step, Without};
pub use rank::{Adjustment, LegRank};
pub use retrievers::Leg;
pub use search::{MIN_DEPTH, SearchContext, search, search_all};
