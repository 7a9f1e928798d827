//! The connectors that the operator has configured, and which projects may use each.

use std::collections::BTreeMap;

use mc_domain::ProjectKey;

use crate::client::Connector;

/// The connectors by their names, each with the projects that may use it; none if all may.
#[derive(Debug, Clone, Default)]
pub struct ConnectorRegistry(BTreeMap<String, (Connector, Vec<ProjectKey>)>);

impl ConnectorRegistry {
    /// Adds a connector for these projects, or for every project if there are none.
    pub fn add(&mut self, connector: Connector, allowed_projects: Vec<ProjectKey>) {
        self.0.insert(connector.name().to_owned(), (connector, allowed_projects));
    }

    /// Returns all configured connectors, for every project.
    pub fn all(&self) -> impl Iterator<Item = &Connector> {
        self.0.values().map(|(connector, _)| connector)
    }

    /// Returns the connectors that a project may use.
    pub fn of(&self, project: &ProjectKey) -> impl Iterator<Item = &Connector> {
        let is_allowed = |allowed: &[ProjectKey]| allowed.is_empty() || allowed.contains(project);
        let usable = self.0.values().filter(move |(_, allowed)| is_allowed(allowed));
        usable.map(|(connector, _)| connector)
    }

    /// Returns the connector of this name if the project may use it.
    pub fn find(&self, name: &str, project: &ProjectKey) -> Option<&Connector> {
        self.of(project).find(|connector| connector.name() == name)
    }
}
