//! Commands of webhooks, integrations and connectors.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use mc_domain::{Capability, DeliveryId, DeliveryState, IntegrationId, Provider, WebhookId};

use super::{PageArgs, ProjectArg, value_parser_of};

/// Subcommands of `webhooks`.
#[derive(Debug, Subcommand)]
pub enum WebhooksCommand {
    /// Create a webhook and print the URL and secret for its provider.
    Create {
        /// The provider that sends the events.
        #[arg(value_parser = value_parser_of(Provider::ALL, Provider::as_str))]
        provider: Provider,
        #[command(flatten)]
        project: ProjectArg,
        #[command(flatten)]
        secret: SecretArg,
    },
    /// List the project's webhooks.
    List {
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Replace a webhook's secret.
    RotateSecret {
        /// The webhook's id, as `webhooks list` shows it.
        id: WebhookId,
        #[command(flatten)]
        project: ProjectArg,
        /// Hours for which the previous secret is accepted too; at most 168.
        #[arg(long, default_value_t = 24, value_name = "N")]
        previous_secret_ttl_hours: u32,
        #[command(flatten)]
        secret: SecretArg,
    },
    /// Delete a webhook and its deliveries.
    Delete {
        /// The webhook's id.
        id: WebhookId,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// List the deliveries of the last fourteen days and their outcomes.
    Deliveries {
        #[command(flatten)]
        project: ProjectArg,
        /// Only the deliveries of this webhook.
        #[arg(long, value_name = "ID")]
        webhook: Option<WebhookId>,
        /// Only the deliveries in this state.
        #[arg(long, value_parser = value_parser_of(DeliveryState::ALL, DeliveryState::as_str))]
        state: Option<DeliveryState>,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Process a delivery again.
    Replay {
        /// The delivery's id, as `webhooks deliveries` shows it.
        id: DeliveryId,
        #[command(flatten)]
        project: ProjectArg,
    },
}

/// A secret. A file, not an argument: other users of the machine can read arguments.
#[derive(Debug, Args)]
pub struct SecretArg {
    /// File with a secret that the provider already has, such as GitLab's signing token; `-` reads
    /// standard input. Without it the service generates one.
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<PathBuf>,
}

/// Subcommands of `integrations`.
#[derive(Debug, Subcommand)]
pub enum IntegrationsCommand {
    /// Create an integration and start its first sync.
    Create {
        /// The connector's name, as `connectors list` shows it; `git` for a repository that is
        /// polled with git alone.
        connector: String,
        /// The resource: a repository (owner/name; for `git` as the project has indexed it), a
        /// project's key or identifier, or a space's key.
        resource: String,
        #[command(flatten)]
        project: ProjectArg,
        /// The data to sync; without it the first capability of the connector.
        #[arg(long, value_parser = value_parser_of(Capability::ALL, Capability::as_str))]
        capability: Option<Capability>,
        /// Minutes between two syncs: 5 to 1,440.
        #[arg(long, default_value_t = 15, value_name = "N")]
        interval_minutes: u32,
        /// Leave out the comments on issues.
        #[arg(long)]
        no_comments: bool,
    },
    /// List the project's integrations with their current and last runs.
    List {
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Start a sync now.
    Sync {
        /// The integration's id, as `integrations list` shows it.
        id: IntegrationId,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Pause an integration until it is resumed.
    Pause {
        /// The integration's id.
        id: IntegrationId,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Resume a paused integration.
    Resume {
        /// The integration's id.
        id: IntegrationId,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Delete an integration. The data that it synced stays.
    Delete {
        /// The integration's id.
        id: IntegrationId,
        #[command(flatten)]
        project: ProjectArg,
        /// Also delete the data that it synced: documents, and the provider's data of tasks.
        #[arg(long)]
        purge: bool,
    },
}

/// Subcommands of `connectors`.
#[derive(Debug, Subcommand)]
pub enum ConnectorsCommand {
    /// List the connectors that the project may use.
    List {
        #[command(flatten)]
        project: ProjectArg,
    },
}
