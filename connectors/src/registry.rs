//! The connectors that the operator has configured, and which projects may use each.

use std::collections::BTreeMap;

use mc_domain::ProjectKey;

use crate::client::Connector;

/// The connectors by their names.
#[derive(Debug, Clone, Default)]
pub struct ConnectorRegistry(BTreeMap<String, Entry>);

#[derive(Debug, Clone)]
struct Entry {
    connector: Connector,
    /// Empty if every project may use the connector.
    allowed_projects: Vec<ProjectKey>,
}

impl ConnectorRegistry {
    /// Adds a connector for these projects, or for every project if there are none.
    pub fn add(&mut self, connector: Connector, allowed_projects: Vec<ProjectKey>) {
        let name = connector.name().to_owned();
        self.0.insert(name, Entry { connector, allowed_projects });
    }

    /// Returns all connectors.
    pub fn all(&self) -> impl Iterator<Item = &Connector> {
        self.0.values().map(|entry| &entry.connector)
    }

    /// Returns the connectors that a project may use.
    pub fn of(&self, project: &ProjectKey) -> impl Iterator<Item = &Connector> {
        let usable = self.0.values().filter(move |entry| entry.allows(project));
        usable.map(|entry| &entry.connector)
    }

    /// Returns the connector of this name if the project may use it.
    pub fn find(&self, name: &str, project: &ProjectKey) -> Option<&Connector> {
        let entry = self.0.get(name).filter(|entry| entry.allows(project))?;
        Some(&entry.connector)
    }
}

impl Entry {
    fn allows(&self, project: &ProjectKey) -> bool {
        self.allowed_projects.is_empty() || self.allowed_projects.contains(project)
    }
}
