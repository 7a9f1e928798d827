//! The systems that are asked on the projects' behalf, as statements for the database.

use std::sync::Arc;

use mc_connectors::ConnectorRegistry;
use mc_connectors::client::{Connector, ConnectorConfig, Limits, Provider};
use uuid::Uuid;

use super::Project;
use super::rows::{Plain, Rows, row};

/// The operator's name for the one system that there is.
pub const SYSTEM: &str = "our-tracker";

/// That system; nothing asks it anything.
pub fn systems() -> Arc<ConnectorRegistry> {
    let settings = ConnectorConfig {
        name: SYSTEM.to_owned(),
        kind: Provider::Redmine,
        url: "http://127.0.0.1:1".parse().expect("a URL"),
        user: None,
        token: None,
        limits: Limits::default(),
    };
    let mut systems = ConnectorRegistry::default();
    systems.add(Connector::new(settings).expect("settings"), Vec::new());
    Arc::new(systems)
}

/// The connections as statements.
pub fn sql(projects: &[Project]) -> String {
    let mut rows = Rows::default();
    for project in projects {
        rows.each(
            "integrations (id, project_id, connector, resource, capability, interval_minutes, \
             include_comments, last_error, consecutive_failures)",
            &project.connections,
            |_, one| {
                let error = format!("it was away ({})", one.mark);
                row![
                    one.id,
                    project.id,
                    SYSTEM,
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
            &project.connections,
            |_, one| row![project.id, one.id, one.mark.as_str()],
        );
    }
    rows.0
}

/// A statement that adds a connection.
pub fn connection(project: &Project, id: Uuid, what: &str) -> String {
    format!(
        "insert into integrations (id, project_id, connector, resource, capability, \
         interval_minutes, include_comments)
         values ('{id}', '{}', '{SYSTEM}', '{what}', 'issues', 60, true)",
        project.id
    )
}
