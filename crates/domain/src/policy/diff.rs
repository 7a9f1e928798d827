//! The differences between two policies.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Policy;

/// A changed setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SettingChange {
    /// The setting, such as `min_roles.save`.
    pub field: String,
    /// `null` if the setting was absent.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub before: Value,
    /// `null` if the setting is absent now.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub after: Value,
}

impl Policy {
    /// Returns the settings that differ from `before`, sorted by path.
    pub fn changes_from(&self, before: &Self) -> Vec<SettingChange> {
        let [before, after] = [before, self].map(|policy| {
            let mut settings = BTreeMap::new();
            flatten("", serde_json::to_value(policy).unwrap_or_default(), &mut settings);
            settings
        });
        let fields: BTreeSet<_> = before.keys().chain(after.keys()).collect();
        let changes = fields.into_iter().map(|field| SettingChange {
            before: before.get(field).cloned().unwrap_or_default(),
            after: after.get(field).cloned().unwrap_or_default(),
            field: field.clone(),
        });
        changes.filter(|change| change.before != change.after).collect()
    }
}

/// Collects the leaves of a JSON document by their dotted paths. An array is a leaf.
fn flatten(path: &str, value: Value, settings: &mut BTreeMap<String, Value>) {
    let Value::Object(members) = value else {
        settings.insert(path.to_owned(), value);
        return;
    };
    for (name, value) in members {
        let path = if path.is_empty() { name } else { format!("{path}.{name}") };
        flatten(&path, value, settings);
    }
}
