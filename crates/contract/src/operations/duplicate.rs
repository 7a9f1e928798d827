//! `/projects/{key}/duplicates`: clusters of duplicate records that wait for a person's
//! decision.

use chrono::{DateTime, Utc};
use mc_domain::{DuplicateClusterId, RecordId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::record::{self, Record};
use crate::number::PageLimit;
use crate::{ProjectKey, Request};

path! {
    /// Path parameters of a cluster.
    ClusterPath {
        /// The project's key.
        key: ProjectKey,
        /// The cluster's id.
        id: DuplicateClusterId,
    }
}

query! {
    /// Page of the list of clusters.
    ClusterQuery {
        /// The `next_cursor` of the previous page.
        cursor: Option<DuplicateClusterId>,
        /// Maximum number of items, 1 to 200; 50 by default.
        limit: Option<PageLimit>,
    }
}

/// The record to keep.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({}))]
pub struct MergeDuplicates {
    /// One of the cluster's records; its first by default.
    pub keep: Option<RecordId>,
}

impl Request for MergeDuplicates {}

/// A cluster of duplicate records.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = example)]
pub struct DuplicateCluster {
    /// The cluster's id.
    pub id: DuplicateClusterId,
    /// The first is kept by default. Deleted ones are left out.
    pub records: Vec<Record>,
    /// The smallest share of words that a record has in common with the first, 0 to 1.
    pub similarity: f64,
    /// When it was detected.
    pub detected_at: DateTime<Utc>,
}

fn example() -> Value {
    json!({
        "id": "019a0000-0000-7000-8000-000000000013", "records": [record::example()],
        "similarity": 0.92, "detected_at": "2026-11-20T03:00:00Z"
    })
}
