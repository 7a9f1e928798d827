//! The configuration of the pipeline.

use std::collections::BTreeMap;

use mc_contract::operations::rag::{CONTEXT_TOKENS_MAX, CONTEXT_TOKENS_MIN, RagModule};
use serde::{Deserialize, Serialize};

use crate::cross_encoder::CrossEncoderSettings;
use crate::profiles::{self, DEFAULT_PROFILE};
use crate::switches::SwitchLayer;

/// The configuration: what applies to all requests, and further profiles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RagSettings {
    /// Profile of a request that names none.
    pub default_profile: String,
    /// Maximum number of tokens of a context, 128 to 4,000; a request may only lower it.
    pub max_context_tokens: i64,
    /// Milliseconds of the searches of all repositories together, without the calls of models.
    pub time_budget_ms: u64,
    /// Milliseconds that a request waits for all calls of chat models together.
    pub model_wait_ms: u64,
    /// The cross-encoder of `post.cross-encoder`; none by default.
    pub cross_encoder: Option<CrossEncoderSettings>,
    /// Switches and values below those of profiles and requests.
    pub defaults: SwitchLayer,
    /// Profiles by name, in addition to the built-in ones; one of the same name replaces it.
    pub profiles: BTreeMap<String, SwitchLayer>,
}

impl Default for RagSettings {
    fn default() -> Self {
        Self {
            default_profile: DEFAULT_PROFILE.to_owned(),
            max_context_tokens: CONTEXT_TOKENS_MAX,
            time_budget_ms: 2_000,
            model_wait_ms: 15_000,
            cross_encoder: None,
            defaults: SwitchLayer::default(),
            profiles: BTreeMap::new(),
        }
    }
}

/// A setting that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`rag.{field}`: {rule}")]
pub struct InvalidSettings {
    /// The setting.
    pub field: String,
    /// The rule, and what to do.
    pub rule: String,
}

impl RagSettings {
    /// Checks the rules; to be called once, when the service starts.
    pub fn check(&self) -> Result<(), InvalidSettings> {
        let invalid =
            |field: &str, rule: String| Err(InvalidSettings { field: field.to_owned(), rule });
        if self.profile(&self.default_profile).is_none() {
            let names: Vec<_> = self.profile_names().collect();
            let rule = format!("there is no such profile; use one of: {}", names.join(", "));
            return invalid("default_profile", rule);
        }
        let range = CONTEXT_TOKENS_MIN..=CONTEXT_TOKENS_MAX;
        if !range.contains(&self.max_context_tokens) {
            let (value, min, max) = (self.max_context_tokens, range.start(), range.end());
            let rule = format!("{value} is out of range; set {min} to {max}");
            return invalid("max_context_tokens", rule);
        }
        if self.time_budget_ms == 0 {
            return invalid("time_budget_ms", "set at least 1 millisecond".to_owned());
        }
        let profiles = self.profiles.iter();
        let profiles = profiles.map(|(name, layer)| (format!("profiles.{name}.modules"), layer));
        let mut layers = profiles.chain([("defaults.modules".to_owned(), &self.defaults)]);
        let is_on = |(_, layer): &(String, &SwitchLayer)| {
            layer.modules.get(&RagModule::CrossEncoder) == Some(&true)
        };
        match &self.cross_encoder {
            None => match layers.find(is_on) {
                Some((field, _)) => {
                    let rule = "post.cross-encoder needs `rag.cross_encoder`; set that, or leave \
                                the module out";
                    invalid(&field, rule.to_owned())
                }
                None => Ok(()),
            },
            Some(settings) => match settings.check() {
                Ok(_) => Ok(()),
                Err(error) => invalid("cross_encoder", error.rule().to_owned()),
            },
        }
    }

    /// Returns the profile with this name.
    pub(crate) fn profile(&self, name: &str) -> Option<SwitchLayer> {
        self.profiles.get(name).cloned().or_else(|| profiles::built_in(name))
    }

    /// Returns the names of all profiles.
    pub(crate) fn profile_names(&self) -> impl Iterator<Item = &str> {
        let own = self.profiles.keys().map(String::as_str);
        let is_own = |name: &&str| self.profiles.contains_key(*name);
        profiles::NAMES.iter().copied().filter(move |name| !is_own(name)).chain(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_keep_the_rules() {
        assert_eq!(RagSettings::default().check(), Ok(()));
    }

    #[test]
    fn settings_that_break_a_rule_are_named() {
        let cross_encoder = SwitchLayer {
            modules: [(RagModule::CrossEncoder, true)].into(),
            ..SwitchLayer::default()
        };
        for (settings, field) in [
            (
                RagSettings { default_profile: "none".into(), ..RagSettings::default() },
                "default_profile",
            ),
            (
                RagSettings { max_context_tokens: 4_001, ..RagSettings::default() },
                "max_context_tokens",
            ),
            (RagSettings { time_budget_ms: 0, ..RagSettings::default() }, "time_budget_ms"),
            (RagSettings { defaults: cross_encoder, ..RagSettings::default() }, "defaults.modules"),
        ] {
            assert_eq!(settings.check().map_err(|error| error.field), Err(field.to_owned()));
        }
    }

    #[test]
    fn configured_profile_replaces_the_built_in_one() {
        let mine = SwitchLayer { top_k: Some(3), ..SwitchLayer::default() };
        let settings = RagSettings {
            profiles: [("fast".to_owned(), mine.clone())].into(),
            ..RagSettings::default()
        };
        assert_eq!(settings.profile("fast"), Some(mine));
        assert_eq!(settings.profile_names().filter(|name| *name == "fast").count(), 1);
    }
}
