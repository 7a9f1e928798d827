#![doc = include_str!("../README.md")]

pub mod analyzer;
mod error;
pub mod glob;
mod history;
pub mod index;
pub mod models;
pub mod names;
pub mod query;
pub mod rank;
mod response;
pub mod retrievers;
mod search;

pub use error::Error;
pub use index::{Freshness, KeywordIndex, Phase, Status};
pub use models::{ActiveModel, ActiveModels, UnavailableModel};
pub use query::{Options, Query};
pub use rank::rerank::rank_factors;
pub use rank::{Adjustment, DisabledSteps, RetrieverRank, Step};
pub use response::{Explain, Hit, SearchResponse};
pub use retrievers::Retriever;
pub use search::{MIN_DEPTH, SearchContext, search, search_all};
