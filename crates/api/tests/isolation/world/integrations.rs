//! The connector and the integrations of the projects, as SQL statements.

use std::sync::Arc;

use mc_connectors::ConnectorRegistry;
use mc_connectors::client::{Connector, ConnectorConfig, Limits, Provider};
use uuid::Uuid;

use super::Project;
use super::rows::{Plain, Rows, row};

/// Name of the only connector.
pub const CONNECTOR: &str = "our-tracker";

/// Returns the connector; no request is ever sent to it.
pub fn connectors() -> Arc<ConnectorRegistry> {
    let settings = ConnectorConfig {
        name: CONNECTOR.to_owned(),
        kind: Provider::Redmine,
        url: "http://127.0.0.1:1".parse().expect("a URL"),
        user: None,
        token: None,
        limits: Limits::default(),
    };
    let mut connectors = ConnectorRegistry::default();
    connectors.add(Connector::new(settings).expect("settings"), Vec::new());
    Arc::new(connectors)
}

/// The connections as statements.
pub fn sql(projects: &[Project]) -> String {
    let mut rows = Rows::default();
    for project in projects {
        rows.each(
            "integrations (id, project_id, connector, resource, capability, interval_minutes, \
             include_comments, last_error, consecutive_failures)",
            &project.integrations,
            |_, one| {
                let error = format!("it was away ({})", one.mark);
                row![
                    one.id,
                    project.id,
                    CONNECTOR,
                    one.name.as_str(),
                    "issues",
                    Plain(60),
                    Plain(true),
                    error,
                    Plain(1)
                ]
            },
        );
        rows.each(
            "deletion_candidates (project_id, integration_id, external_id)",
            &project.integrations,
            |_, one| row![project.id, one.id, one.mark.as_str()],
        );
    }
    rows.0
}

/// A statement that adds a connection.
pub fn integration(project: &Project, id: Uuid, what: &str) -> String {
    format!(
        "insert into integrations (id, project_id, connector, resource, capability, \
         interval_minutes, include_comments)
         values ('{id}', '{}', '{CONNECTOR}', '{what}', 'issues', 60, true)",
        project.id
    )
}
