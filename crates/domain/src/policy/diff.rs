//! The differences between two policies.

use std::collections::{BTreeMap, BTreeSet};

use super::Policy;

/// A setting that differs between two policies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingChange {
    /// The path of the setting (`min_roles.save`).
    pub field: String,
    /// The old value; `null` if absent.
    pub before: serde_json::Value,
    /// The new value; `null` if absent.
    pub after: serde_json::Value,
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
fn flatten(
    path: &str,
    value: serde_json::Value,
    settings: &mut BTreeMap<String, serde_json::Value>,
) {
    let serde_json::Value::Object(members) = value else {
        settings.insert(path.to_owned(), value);
        return;
    };
    for (name, value) in members {
        let path = if path.is_empty() { name } else { format!("{path}.{name}") };
        flatten(&path, value, settings);
    }
}
