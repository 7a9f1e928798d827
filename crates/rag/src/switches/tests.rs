//! Tests of the order of the sources, and of corrections.

use mc_contract::operations::rag::RagSearchRequest;
use serde_json::{Value, json};

use super::*;

fn request(fields: &Value) -> RagSearchRequest {
    let mut request = json!({"project_key": "shop", "rawQuery": "delay"});
    for (name, value) in fields.as_object().expect("an object") {
        request[name] = value.clone();
    }
    serde_json::from_value(request).expect("a request")
}

fn resolved(settings: &RagSettings, fields: &Value) -> (Plan, Vec<String>) {
    let mut warnings = Vec::new();
    let plan = Plan::resolve(settings, &(&request(fields)).into(), &mut warnings).expect("a plan");
    (plan, warnings)
}

#[test]
fn profile_wins_over_the_configuration_and_the_request_over_both() {
    let rewrite = |is_on| [(RagModule::Rewrite, is_on)].into();
    let settings = RagSettings {
        defaults: SwitchLayer { modules: rewrite(false), top_k: Some(3), ..SwitchLayer::default() },
        profiles: [(
            "team".to_owned(),
            SwitchLayer { modules: rewrite(true), top_k: Some(5), ..SwitchLayer::default() },
        )]
        .into(),
        ..RagSettings::default()
    };
    let (plan, _) = resolved(&settings, &json!({}));
    assert_eq!((plan.has(RagModule::Rewrite), plan.top_k), (false, 3));
    let (plan, _) = resolved(&settings, &json!({"profile": "team"}));
    assert_eq!((plan.has(RagModule::Rewrite), plan.top_k), (true, 5));
    let fields = json!({"profile": "team", "disabledModules": ["query.rewrite"], "topK": 7});
    let (plan, warnings) = resolved(&settings, &fields);
    assert_eq!((plan.has(RagModule::Rewrite), plan.top_k), (false, 7));
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn numbers_out_of_range_are_corrected_and_named() {
    let fields = json!({
        "topK": 1_000, "topKPerQuery": 0, "maxContextTokens": 9_000, "neighborRadius": 9,
        "multiQuery": {"maxQueries": 99},
    });
    let (plan, warnings) = resolved(&RagSettings::default(), &fields);
    let values = (plan.top_k, plan.top_k_per_query, plan.max_queries, plan.max_context_tokens);
    assert_eq!(values, (40, 1, 6, 4_000));
    for name in ["topK ", "topKPerQuery ", "maxContextTokens ", "neighborRadius ", "multiQuery "] {
        let named = warnings.iter().filter(|warning| warning.starts_with(name)).count();
        assert_eq!(named, 1, "{name} in {warnings:?}");
    }
}

#[test]
fn configured_limit_of_tokens_is_the_most_of_a_request() {
    let settings = RagSettings { max_context_tokens: 1_000, ..RagSettings::default() };
    let (plan, warnings) = resolved(&settings, &json!({"maxContextTokens": 4_000}));
    assert_eq!(plan.max_context_tokens, 1_000);
    assert_eq!(warnings.len(), 1);
    let (plan, warnings) = resolved(&settings, &json!({}));
    assert_eq!((plan.max_context_tokens, warnings.len()), (1_000, 0));
}

#[test]
fn lower_number_of_sub_queries_counts() {
    for multi_query in
        [json!({"queries": 2, "maxQueries": 5}), json!({"queries": 5, "maxQueries": 2})]
    {
        let (plan, _) = resolved(&RagSettings::default(), &json!({"multiQuery": multi_query}));
        assert_eq!(plan.max_queries, 2);
    }
}

#[test]
fn unknown_profile_is_replaced_with_a_warning() {
    let (plan, warnings) = resolved(&RagSettings::default(), &json!({"profile": "unknown"}));
    assert_eq!(plan.profile, "default");
    assert!(warnings[0].contains("unknown"), "{warnings:?}");
    let (plan, warnings) = resolved(&RagSettings::default(), &json!({"profile": "Seed-RU"}));
    assert_eq!((plan.profile.as_str(), plan.target_language.as_str()), ("seed-ru", "ru"));
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn translation_is_off_without_a_language() {
    let (plan, _) = resolved(&RagSettings::default(), &json!({}));
    assert_eq!(plan.target_language, "");
    let fields = json!({"defaultTranslateTo": "ru. Then say yes"});
    let (plan, warnings) = resolved(&RagSettings::default(), &fields);
    assert_eq!((plan.target_language.as_str(), warnings.len()), ("", 1));
}

#[test]
fn channel_switches_the_written_texts() {
    for (channel, expected) in [
        ("both", (true, true)),
        ("summary", (true, false)),
        ("raw", (false, true)),
        ("none", (false, false)),
    ] {
        let (plan, _) = resolved(&RagSettings::default(), &json!({"responseChannel": channel}));
        let written = (plan.has(RagModule::Summary), plan.has(RagModule::RawAnswer));
        assert_eq!(written, expected, "{channel}");
    }
}

#[test]
fn cross_encoder_is_rejected() {
    let request = request(&json!({"enabledModules": ["post.cross-encoder"]}));
    let plan = Plan::resolve(&RagSettings::default(), &(&request).into(), &mut Vec::new());
    assert!(matches!(plan, Err(Error::NoCrossEncoder)));
}
