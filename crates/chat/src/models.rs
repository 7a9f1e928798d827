//! The configured models, by name and role.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::genai_provider::GenaiProvider;
use crate::{ChatModel, ChatProviderName, ChatSettings, ClientModel, Error, ModelRole};

/// The configured models.
#[derive(Debug, Default)]
pub struct ChatModels {
    models: BTreeMap<String, Arc<ChatModel>>,
    roles: BTreeMap<ModelRole, String>,
    client_model: Option<Arc<ClientModel>>,
}

impl ChatModels {
    /// Creates the clients. No server is contacted.
    pub fn open(settings: &ChatSettings) -> Result<Self, Error> {
        let mut opened = Self::default();
        for (name, settings) in &settings.models {
            let invalid = |field, rule| Error::Settings { model: name.clone(), field, rule };
            for role in &settings.roles {
                if let Some(other) = opened.roles.insert(*role, name.clone()) {
                    let rule = format!("{role} is also a role of {other}; a role has one model");
                    return Err(invalid("roles", rule));
                }
            }
            settings.check_limits().map_err(|(field, rule)| invalid(field, rule))?;
            if settings.provider == ChatProviderName::McpSampling {
                opened.client_model = Some(Arc::new(ClientModel::open(name, settings)?));
                continue;
            }
            let provider = GenaiProvider::new(name, settings)?;
            let model = ChatModel::new(name, settings.clone(), Arc::new(provider));
            opened.models.insert(name.clone(), Arc::new(model));
        }
        Ok(opened)
    }

    /// Returns the model with a role; the writer also codes if no model has that role. The model of
    /// clients is none: the service can't ask it.
    pub fn with_role(&self, role: ModelRole) -> Result<&Arc<ChatModel>, Error> {
        if role == ModelRole::Judge
            && let Some(model) = &self.client_model
        {
            return Err(Error::OfClients { role, model: model.name().to_owned() });
        }
        let writer = || self.roles.get(&ModelRole::Writer).filter(|_| role == ModelRole::Coder);
        let name = self.roles.get(&role).or_else(writer);
        let model = name.and_then(|name| self.models.get(name));
        model.ok_or(Error::NotConfigured { role })
    }

    /// Returns the model of MCP clients, which judges saves, if it is configured.
    pub fn client_model(&self) -> Option<&Arc<ClientModel>> {
        self.client_model.as_ref()
    }

    /// Returns all models of servers, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Arc<ChatModel>)> {
        self.models.iter().map(|(name, model)| (name.as_str(), model))
    }

    /// Returns whether no model of a server is configured.
    pub fn is_empty(&self) -> bool {
        self.models.is_empty()
    }
}
