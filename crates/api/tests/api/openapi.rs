//! The OpenAPI document, from which clients are generated.

use serde_json::Value;

/// Returns the document with the fields of objects in order, so that a snapshot shows changes only.
fn document() -> Value {
    let mut document = serde_json::to_value(mc_api::openapi()).unwrap();
    document.sort_all_objects();
    document
}

#[test]
fn the_document_is_openapi_3_1_and_stays_as_reviewed() {
    let document = document();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"), "{}", document["openapi"]);
    insta::assert_json_snapshot!(document);
}

#[test]
fn every_operation_has_problems_and_a_description() {
    let document = document();
    let mut ids = std::collections::HashSet::new();
    let mut missing = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{operation}");
            let name = format!("{method} {path}");
            let content = &operation["responses"]["default"]["content"];
            let schema = &content["application/problem+json"]["schema"]["$ref"];
            assert_eq!(schema, "#/components/schemas/Problem", "{name}");
            let is_probe = matches!(path.as_str(), "/healthz" | "/readyz");
            let is_delivery = path.starts_with("/webhooks/");
            for (status, refusal) in [("429", "TooManyRequests"), ("503", "Overloaded")] {
                let named = operation["responses"][status]["$ref"].as_str();
                let expected = format!("#/components/responses/{refusal}");
                let is_said = !is_probe && (status != "429" || !is_delivery);
                assert_eq!(named, is_said.then_some(expected.as_str()), "{name} {status}");
                let headers = &document["components"]["responses"][refusal]["headers"];
                assert_eq!(headers["Retry-After"]["schema"]["type"], "integer");
            }
            assert!(operation["summary"].is_string(), "{name} has no summary");
            missing.extend(operation["description"].as_str().is_none().then(|| name.clone()));
            missing
                .extend(lacks_example(&document, operation).map(|what| format!("{name}: {what}")));
        }
    }
    assert!(missing.is_empty(), "without a description or an example: {missing:#?}");
}

/// The response of an operation that has no example.
fn lacks_example(document: &Value, operation: &Value) -> Option<String> {
    let responses = operation["responses"].as_object().unwrap().iter();
    let succeeded = responses.filter(|(status, _)| status.starts_with('2'));
    let mut schemas = succeeded.filter_map(|(_, response)| {
        let schema = response.pointer("/content/application~1json/schema/$ref")?.as_str()?;
        Some(schema.rsplit('/').next().unwrap().to_owned())
    });
    schemas.find(|name| {
        let schema = &document["components"]["schemas"][name.as_str()];
        schema.get("example").is_none() && schema.pointer("/examples/0").is_none()
    })
}

#[test]
fn every_reference_resolves_and_no_parameter_is_null() {
    let document = document();
    for reference in references(&document) {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                assert!(!parameter["schema"].to_string().contains("null"), "{parameter}");
            }
        }
    }
}

fn references(value: &Value) -> Vec<&str> {
    match value {
        Value::Object(object) => {
            let own = object.get("$ref").and_then(Value::as_str);
            own.into_iter().chain(object.values().flat_map(references)).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn only_probes_sign_in_and_webhooks_need_no_token() {
    let document = document();
    assert_eq!(document["security"][0]["bearer"], serde_json::json!([]));
    for (path, item) in document["paths"].as_object().unwrap() {
        let is_open = matches!(
            path.as_str(),
            "/healthz"
                | "/readyz"
                | "/auth/token"
                | "/auth/revoke"
                | "/auth/device"
                | "/auth/device/page"
                | "/auth/sign-out"
                | "/auth/invitation"
        ) || path.starts_with("/.well-known/")
            || path.starts_with("/auth/oauth/")
            || path.starts_with("/webhooks/");
        for operation in item.as_object().unwrap().values() {
            let needs_none = operation["security"] == serde_json::json!([{}]);
            assert_eq!(needs_none, is_open, "{path}");
        }
    }
}
