//! `/proposals`: records that wait for a reviewer.

use std::collections::BTreeMap;

use mc_domain::RecordId;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use super::record::{self, CitedRecord, Contribution, Record};
use crate::number::{PageLimit, VersionNumber};
use crate::text::{FreeText, StatementText, Title};
use crate::{ProjectKey, Request};

query! {
    /// Which proposals to list.
    ProposalQuery {
        /// The project's key.
        project_key: ProjectKey,
        /// The `next_cursor` of the previous page.
        cursor: Option<RecordId>,
        /// Maximum number of items, 1 to 200; 50 by default.
        limit: Option<PageLimit>,
    }
}

/// The reviewed versions, and edits of the proposal.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"version": 1, "amends_version": 3}))]
pub struct AcceptProposal {
    /// The reviewed `version` of the proposal.
    pub version: VersionNumber,
    /// The reviewed `version` of the record that the proposal would change, if it would change one.
    pub amends_version: Option<VersionNumber>,
    /// A new title; the proposed one by default.
    pub title: Option<Title>,
    /// A new content of at most 4,000 characters; the proposed one by default.
    pub content: Option<StatementText>,
}

impl Request for AcceptProposal {}

/// The reason for rejecting a proposal.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"reason": "The record about units says so already."}))]
pub struct RejectProposal {
    /// The reason, for the audit.
    pub reason: FreeText,
}

impl Request for RejectProposal {}

/// A proposal, with the record that it would change.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = example)]
pub struct Proposal {
    /// The proposal itself.
    #[serde(flatten)]
    pub record: CitedRecord,
    /// The saves that it is made of.
    pub contributions: Vec<Contribution>,
    /// The record that it would change, as it is now; absent if it would be a new record.
    pub amends: Option<Record>,
    /// The change as a unified diff of title, tags, scope, citations and content.
    pub diff: Option<String>,
    /// Why hygiene demoted a record of the team, if it did. Accepting it restores the record.
    pub demotion: Option<Demotion>,
}

/// Why an unused record of the team was demoted.
// Also its stored form: a new field needs a default.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Demotion {
    /// The factor by which ranking multiplied the record; absent if no search found it.
    pub rank_factor: Option<f64>,
    /// The ranking steps that make up the factor, each with its own.
    pub factors: BTreeMap<String, f64>,
    /// The reasons for the demotion.
    pub reasons: Vec<String>,
}

fn example() -> Value {
    let proposal = json!({
        "visibility": "proposed", "trust": "untrusted", "version": 1, "recall_count": 0,
        "use_count": 0, "contributions": [record::contribution_example()]
    });
    record::with(record::cited_example(), proposal)
}
