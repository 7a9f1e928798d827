//! The attacks.

use anyhow::Result;
use clap::ValueEnum;

use super::attacker::Attacker;
use super::{connections, messages, requests};

/// An attack; its documentation is its description. Attacks that leave data come last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Attack {
    /// no attack, for comparison
    Baseline,
    /// HTTP/2 connections, each with 100 bodies to /auth/token that never end, without a credential
    UnfinishedBodies,
    /// webhook deliveries that never end, without a credential: on HTTP/2 connections, each with
    /// 100 to an existing webhook and to an unknown one in turn, and of 24 MiB to the existing one
    UnfinishedDeliveries,
    /// idle connections from 250 loopback addresses, more than the service accepts
    IdleConnections,
    /// messages of 15 MiB to /mcp that never end, with the least token
    UnfinishedMessages,
    /// messages of 14 MiB with millions of empty arrays to /mcp, with the least token
    ManyValues,
    /// a stream of initialize calls to /mcp, with the least token
    Initialize,
    /// requests without a credential and with a revoked token to protected routes
    Unauthenticated,
    /// HTTP/2 streams that are opened and reset at once, without a credential
    ResetStreams,
    /// the most costly valid searches, with the least token
    CostlySearches,
    /// documents of 16 KB that consist of headings, with a token for ingest
    SmallDocuments,
    /// documents of 1 MB that consist of headings, with a token for ingest
    LargeDocuments,
    /// new notes of almost the greatest length, with a token for memory:write
    LargeSaves,
}

impl Attack {
    /// Returns its name on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Returns its description.
    pub fn description(self) -> String {
        let value = self.to_possible_value();
        let help = value.as_ref().and_then(clap::builder::PossibleValue::get_help);
        help.map_or_else(String::new, ToString::to_string)
    }

    /// Returns the number of its concurrent workers.
    pub fn workers(self) -> usize {
        match self {
            Self::Baseline => 0,
            Self::LargeDocuments => 2,
            Self::IdleConnections
            | Self::ManyValues
            | Self::ResetStreams
            | Self::SmallDocuments => 4,
            Self::UnfinishedBodies
            | Self::Initialize
            | Self::Unauthenticated
            | Self::CostlySearches
            | Self::LargeSaves => 8,
            Self::UnfinishedDeliveries => 12,
            Self::UnfinishedMessages => 16,
        }
    }

    /// Whether its requests are valid, so that some of them must succeed.
    pub fn is_valid(self) -> bool {
        matches!(
            self,
            Self::Initialize
                | Self::CostlySearches
                | Self::SmallDocuments
                | Self::LargeDocuments
                | Self::LargeSaves
        )
    }

    /// Does one step of a worker, which repeats it until the attack ends.
    pub async fn step(self, attacker: &Attacker, worker: usize) -> Result<()> {
        match self {
            Self::Baseline => Ok(()),
            Self::UnfinishedBodies => connections::unfinished_bodies(attacker).await,
            Self::UnfinishedDeliveries if worker.is_multiple_of(2) => {
                connections::unfinished_deliveries(attacker).await
            }
            Self::UnfinishedDeliveries => messages::unfinished_delivery(attacker).await,
            Self::IdleConnections => connections::idle(attacker, worker).await,
            Self::ResetStreams => connections::reset_streams(attacker).await,
            Self::UnfinishedMessages => messages::unfinished(attacker).await,
            Self::ManyValues => messages::many_values(attacker).await,
            Self::Initialize => messages::initialize(attacker).await,
            Self::Unauthenticated => requests::unauthenticated(attacker).await,
            Self::CostlySearches => requests::costly_search(attacker).await,
            Self::SmallDocuments => requests::document(attacker, 16_000).await,
            Self::LargeDocuments => requests::document(attacker, 1_000_000).await,
            Self::LargeSaves => requests::large_save(attacker).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attack_says_what_it_tries() {
        for attack in Attack::value_variants() {
            assert!(attack.description().len() > 20, "{}", attack.name());
        }
        assert_eq!(Attack::ManyValues.name(), "many-values");
    }
}
