//! The built-in profiles: named sets of switches and values.

use mc_contract::operations::rag::{NeighborStrategy, RagModule};

use crate::switches::SwitchLayer;

/// Profile of a request that names none, unless the configuration names another.
pub const DEFAULT_PROFILE: &str = "default";

/// Names of the built-in profiles.
pub(crate) const NAMES: [&str; 4] = [DEFAULT_PROFILE, "fast", "deep", "seed-ru"];

/// Modules that wait for a chat model and are off in `default`: each costs seconds.
const SLOW: [RagModule; 4] = [
    RagModule::ModelRerank,
    RagModule::SnippetCompression,
    RagModule::Summary,
    RagModule::RawAnswer,
];

/// Returns the built-in profile with this name.
pub(crate) fn built_in(name: &str) -> Option<SwitchLayer> {
    let slow = |is_on: bool| SLOW.map(|module| (module, is_on)).into();
    match name {
        // A chat model, if there is one, improves the query alone.
        DEFAULT_PROFILE => Some(SwitchLayer { modules: slow(false), ..SwitchLayer::default() }),
        // No call of a model.
        "fast" => Some(SwitchLayer {
            modules: SLOW
                .into_iter()
                .chain([RagModule::CrossEncoder])
                .map(|module| (module, false))
                .collect(),
            use_models: Some(false),
            ..SwitchLayer::default()
        }),
        "deep" => Some(SwitchLayer {
            modules: slow(true),
            top_k: Some(16),
            max_queries: Some(6),
            neighbor_strategy: Some(NeighborStrategy::ParentSymbol),
            ..SwitchLayer::default()
        }),
        // The defaults of seed 002: translation to Russian, linear neighbors, a written answer.
        "seed-ru" => {
            let mut modules: std::collections::BTreeMap<_, _> = slow(true);
            modules.insert(RagModule::ModelRerank, false);
            Some(SwitchLayer {
                modules,
                target_language: Some("ru".to_owned()),
                neighbor_strategy: Some(NeighborStrategy::Linear),
                ..SwitchLayer::default()
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_profile() {
        assert!(NAMES.iter().all(|name| built_in(name).is_some()));
        assert_eq!(built_in("none"), None);
    }
}
