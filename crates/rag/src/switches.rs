//! What a request uses: configuration, below profile, below request.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use mc_contract::operations::rag::{
    CONTEXT_TOKENS_MIN, LenientNumber, NEIGHBOR_RADIUS_MAX, NeighborStrategy, QUERIES_MAX,
    RagModule, RagOptions, ResponseChannel, TOP_K_MAX, TOP_K_PER_QUERY_MAX,
};
use mc_sanitizer::mask;
use serde::{Deserialize, Serialize};

use crate::{Error, RagSettings};

/// Switches and values of one source. Absent ones are those of the source below.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SwitchLayer {
    /// Modules that are on or off.
    pub modules: BTreeMap<RagModule, bool>,
    /// Whether chat models are asked at all.
    pub use_models: Option<bool>,
    /// Language to translate the query to, such as `ru`; empty for none.
    pub target_language: Option<String>,
    /// Most matches.
    pub top_k: Option<i64>,
    /// Most passages that one sub-query contributes.
    pub top_k_per_query: Option<i64>,
    /// Most sub-queries, the original query included.
    pub max_queries: Option<i64>,
    /// Maximum number of tokens of the context.
    pub max_context_tokens: Option<i64>,
    /// Code that is added to the best matches.
    pub neighbor_strategy: Option<NeighborStrategy>,
    /// Chunks before and after a match.
    pub neighbor_radius: Option<i64>,
    /// Whether the prompt asks for an answer without context if nothing was found.
    pub allow_empty_context: Option<bool>,
}

/// What one request uses, with all values in their ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Name of the profile.
    pub profile: String,
    modules: BTreeMap<RagModule, bool>,
    pub use_models: bool,
    /// Language to translate to; empty for none.
    pub target_language: String,
    pub top_k: usize,
    pub top_k_per_query: usize,
    pub max_queries: usize,
    pub max_context_tokens: usize,
    pub neighbor_strategy: NeighborStrategy,
    pub neighbor_radius: i32,
    pub allow_empty_context: bool,
}

/// Longest name of a language that a request may have: it becomes a part of a prompt.
const LANGUAGE_MAX: usize = 40;

impl Plan {
    /// Resolves the switches of a request. Values that are out of range are corrected, and named
    /// in `warnings`.
    pub fn resolve(
        settings: &RagSettings,
        request: &RagOptions<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<Self, Error> {
        let profile = profile_name(settings, request, warnings);
        let layers = [
            built_in_values(settings),
            settings.defaults.clone(),
            settings.profile(&profile).unwrap_or_default(),
            of_request(request),
        ];
        let mut merged = layers.into_iter().fold(SwitchLayer::default(), SwitchLayer::below);
        let use_models = merged.use_models.unwrap_or(true);
        let has_cross_encoder = settings.cross_encoder.is_some();
        let cross_encoder = merged.modules.entry(RagModule::CrossEncoder);
        let is_on = cross_encoder.or_insert(has_cross_encoder && use_models);
        if *is_on && !has_cross_encoder {
            return Err(Error::NoCrossEncoder);
        }
        let mut value = |name, value: Option<i64>, range: RangeInclusive<i64>| {
            in_range(name, value.unwrap_or(*range.end()), &range, warnings)
        };
        Ok(Self {
            top_k: value("topK", merged.top_k, 1..=TOP_K_MAX),
            top_k_per_query: value("topKPerQuery", merged.top_k_per_query, 1..=TOP_K_PER_QUERY_MAX),
            max_queries: value("multiQuery", merged.max_queries, 1..=QUERIES_MAX),
            max_context_tokens: value(
                "maxContextTokens",
                merged.max_context_tokens,
                CONTEXT_TOKENS_MIN..=settings.max_context_tokens,
            ),
            neighbor_radius: i32::try_from(value(
                "neighborRadius",
                merged.neighbor_radius,
                1..=NEIGHBOR_RADIUS_MAX,
            ))
            .unwrap_or(1),
            profile,
            modules: merged.modules,
            use_models,
            target_language: language(&merged.target_language.unwrap_or_default(), warnings),
            neighbor_strategy: merged.neighbor_strategy.unwrap_or(NeighborStrategy::ParentSymbol),
            allow_empty_context: merged.allow_empty_context.unwrap_or(false),
        })
    }

    /// Whether a module is on.
    pub fn has(&self, module: RagModule) -> bool {
        self.modules.get(&module).copied().unwrap_or(true)
    }
}

impl SwitchLayer {
    /// Returns this layer with that of a source above it.
    fn below(mut self, above: Self) -> Self {
        self.modules.extend(above.modules);
        Self {
            modules: self.modules,
            use_models: above.use_models.or(self.use_models),
            target_language: above.target_language.or(self.target_language),
            top_k: above.top_k.or(self.top_k),
            top_k_per_query: above.top_k_per_query.or(self.top_k_per_query),
            max_queries: above.max_queries.or(self.max_queries),
            max_context_tokens: above.max_context_tokens.or(self.max_context_tokens),
            neighbor_strategy: above.neighbor_strategy.or(self.neighbor_strategy),
            neighbor_radius: above.neighbor_radius.or(self.neighbor_radius),
            allow_empty_context: above.allow_empty_context.or(self.allow_empty_context),
        }
    }
}

/// Returns the values that nothing else sets.
fn built_in_values(settings: &RagSettings) -> SwitchLayer {
    SwitchLayer {
        top_k: Some(12),
        top_k_per_query: Some(TOP_K_MAX),
        max_queries: Some(4),
        max_context_tokens: Some(settings.max_context_tokens),
        neighbor_radius: Some(1),
        ..SwitchLayer::default()
    }
}

/// Returns the layer of a request.
fn of_request(request: &RagOptions<'_>) -> SwitchLayer {
    let number = |value: Option<LenientNumber>| value.map(LenientNumber::get);
    let multi_query = &request.multi_query;
    let queries = [multi_query.queries, multi_query.max_queries];
    SwitchLayer {
        modules: modules_of(request),
        use_models: None,
        target_language: request.default_translate_to.map(|name| name.as_str().to_owned()),
        top_k: number(request.top_k),
        top_k_per_query: number(request.top_k_per_query),
        max_queries: queries.into_iter().flatten().map(LenientNumber::get).min(),
        max_context_tokens: number(request.max_context_tokens),
        neighbor_strategy: request.neighbor_strategy,
        neighbor_radius: number(request.neighbor_radius),
        allow_empty_context: request.allow_empty_context,
    }
}

/// Returns the switches of a request: its named fields, below its lists of modules.
fn modules_of(request: &RagOptions<'_>) -> BTreeMap<RagModule, bool> {
    let mut modules = BTreeMap::new();
    let multi_query = request.multi_query.enabled.map(|is_on| (RagModule::MultiQuery, is_on));
    let compression = request.use_compression.map(|is_on| (RagModule::SnippetCompression, is_on));
    modules.extend(multi_query.into_iter().chain(compression));
    if let Some(strategy) = request.neighbor_strategy {
        modules.insert(RagModule::NeighborExpand, strategy != NeighborStrategy::Off);
    }
    if let Some(channel) = request.response_channel {
        let is_both = channel == ResponseChannel::Both;
        modules.insert(RagModule::Summary, is_both || channel == ResponseChannel::Summary);
        modules.insert(RagModule::RawAnswer, is_both || channel == ResponseChannel::Raw);
    }
    modules.extend(request.enabled_modules.iter().map(|module| (*module, true)));
    modules.extend(request.disabled_modules.iter().map(|module| (*module, false)));
    modules
}

/// Returns the name of the profile: that of the request, whatever its case, else the default.
fn profile_name(
    settings: &RagSettings,
    request: &RagOptions<'_>,
    warnings: &mut Vec<String>,
) -> String {
    let default = || settings.default_profile.clone();
    let Some(named) = request.profile else { return default() };
    let is_named = |name: &&str| name.to_lowercase() == named.as_str().to_lowercase();
    if let Some(name) = settings.profile_names().find(is_named) {
        return name.to_owned();
    }
    let name = mask(named.as_str()).text;
    warnings.push(format!(
        "there is no profile {name:?}; {:?} is used",
        default(),
        name = name.as_str()
    ));
    default()
}

/// Returns a number moved into its range.
fn in_range(
    name: &str,
    value: i64,
    range: &RangeInclusive<i64>,
    warnings: &mut Vec<String>,
) -> usize {
    let corrected = value.clamp(*range.start(), *range.end());
    if corrected != value {
        let (min, max) = (range.start(), range.end());
        warnings.push(format!("{name} must be {min} to {max}; {value} was changed to {corrected}"));
    }
    usize::try_from(corrected).unwrap_or_default()
}

/// Returns the name of a language in lower case, or nothing if it is none.
fn language(name: &str, warnings: &mut Vec<String>) -> String {
    let is_name = |name: &str| {
        name.len() <= LANGUAGE_MAX
            && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | ' ' | '_'))
    };
    if is_name(name) {
        return name.trim().to_lowercase();
    }
    warnings.push(
        "defaultTranslateTo must be the name or code of a language, such as `ru`; the query was \
         not translated"
            .to_owned(),
    );
    String::new()
}

#[cfg(test)]
mod tests;
