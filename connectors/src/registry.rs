//! The systems that the operator has named, and which projects may use each.

use std::collections::BTreeMap;

use mc_domain::ProjectKey;

use crate::client::Connector;

/// The systems that may be asked, by the operator's names for them.
#[derive(Debug, Clone, Default)]
pub struct ConnectorRegistry(BTreeMap<String, Named>);

/// A system with those who may use it.
#[derive(Debug, Clone)]
struct Named {
    system: Connector,
    /// Every project may, where it is empty.
    projects: Vec<ProjectKey>,
}

impl ConnectorRegistry {
    /// Adds a system, for these projects alone or, where there are none, for every one.
    pub fn add(&mut self, system: Connector, projects: Vec<ProjectKey>) {
        self.0.insert(system.name().to_owned(), Named { system, projects });
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Connector> {
        self.0.values().map(|named| &named.system)
    }

    /// Those that a project may use.
    pub fn of(&self, project: &ProjectKey) -> impl Iterator<Item = &Connector> {
        let usable = self.0.values().filter(move |named| named.is_for(project));
        usable.map(|named| &named.system)
    }

    /// The one with this name, where the project may use it.
    pub fn find(&self, name: &str, project: &ProjectKey) -> Option<&Connector> {
        let named = self.0.get(name).filter(|named| named.is_for(project))?;
        Some(&named.system)
    }
}

impl Named {
    fn is_for(&self, project: &ProjectKey) -> bool {
        self.projects.is_empty() || self.projects.contains(project)
    }
}
