//! `/projects/{key}/chat-usage`: use of chat models by a project.

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::number::UsageDays;

query! {
    /// Which days of use to list.
    ChatUsageQuery {
        /// Number of days up to the present one, in UTC: 1 to 366; 30 by default.
        days: Option<UsageDays>,
    }
}

/// Use of chat models by a project.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "budget_tokens": 500_000, "used_tokens": 1_830,
    "items": [{
        "day": "2026-11-20", "model": "small", "role": "judge", "request_count": 3,
        "failed_count": 1, "prompt_tokens": 1_500, "completion_tokens": 330, "cost": 0.0006
    }]
}))]
pub struct ChatUsage {
    /// Tokens that the policy allows on one day in UTC (`tokens.chat_per_day`).
    pub budget_tokens: u64,
    /// Tokens of the present day that are used, or reserved by requests that have not ended.
    pub used_tokens: u64,
    /// Use by day, model and role, the newest day first.
    pub items: Vec<DailyChatUsage>,
}

/// Use of a model in one role on one day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "day": "2026-11-20", "model": "small", "role": "judge", "request_count": 3,
    "failed_count": 1, "prompt_tokens": 1_500, "completion_tokens": 330, "cost": 0.0006
}))]
pub struct DailyChatUsage {
    /// The day, in UTC.
    pub day: NaiveDate,
    /// Name of the model in the service's configuration.
    pub model: String,
    /// What it was used for, such as `judge`.
    pub role: String,
    /// Number of requests.
    pub request_count: u64,
    /// Number of those that failed or never ended.
    pub failed_count: u64,
    /// Tokens of prompts. Those of requests that never ended are not counted.
    pub prompt_tokens: u64,
    /// Tokens of completions.
    pub completion_tokens: u64,
    /// Cost by the configured price, in its currency; 0 without a price.
    pub cost: f64,
}
