//! Requests and answers of each protocol, with the scripted server.

mod support;

use mc_chat::{ChatModels, ChatSettings, Content, Error, ModelRole, StructuredOutput};
use mc_testkit::{ModelProtocol, ModelServer, Reply};
use serde_json::json;
use support::{answer, model, model_with, question, sanitized, score};

#[tokio::test]
async fn each_protocol_answers_with_its_usage() {
    for protocol in ModelProtocol::ALL {
        let text = "The merge loses items, ш и 日本 too. ".repeat(4);
        let reply = text.clone();
        let server =
            ModelServer::start(move |_| Reply::text(reply.clone()).with_usage(11, 5)).await;
        let completion = answer(&model(&server, protocol), &question()).await.expect("an answer");
        assert_eq!(completion.content, Content::Text(sanitized(&text)), "{protocol:?}");
        assert_eq!((completion.usage.prompt_tokens, completion.usage.completion_tokens), (11, 5));
        let request = &server.requests()[0];
        assert_eq!(
            (request.protocol, request.body["model"].as_str()),
            (protocol, Some("small-model-max"))
        );
        assert!(request.prompt().contains("Answer briefly."), "{}", request.body);
        assert!(request.prompt().contains("Why does the cart lose items?"));
        if protocol != ModelProtocol::Ollama {
            assert_eq!(request.key.as_deref(), Some("sesame"));
        }
    }
}

#[tokio::test]
async fn usage_is_estimated_if_the_server_counts_none() {
    let server = ModelServer::start(|_| Reply::text("It merges them by name.")).await;
    let model = model(&server, ModelProtocol::OpenAi);
    let completion = answer(&model, &question()).await.expect("an answer");
    assert_eq!((completion.usage.prompt_tokens, completion.usage.completion_tokens), (10, 6));
}

#[tokio::test]
async fn json_is_requested_as_the_server_can() {
    for (protocol, output) in [
        (ModelProtocol::OpenAi, StructuredOutput::Schema),
        (ModelProtocol::OpenAi, StructuredOutput::Json),
        (ModelProtocol::OpenAi, StructuredOutput::Prompt),
        (ModelProtocol::Anthropic, StructuredOutput::Schema),
        (ModelProtocol::Ollama, StructuredOutput::Json),
    ] {
        let server = ModelServer::start(|_| Reply::text("```json\n{\"score\": 0.25}\n```")).await;
        let model =
            model_with(&server, protocol, |settings| settings.structured_output = Some(output));
        let request = question().with_json(score());
        let completion = answer(&model, &request).await.expect("an answer");
        assert_eq!(completion.content, Content::Json(json!({"score": 0.25})));
        let sent = &server.requests()[0];
        let has_schema = sent.prompt().contains("\"minimum\":0");
        assert_eq!(has_schema, output != StructuredOutput::Schema, "{}", sent.body);
        let format = match protocol {
            ModelProtocol::OpenAi => &sent.body["response_format"]["type"],
            ModelProtocol::Anthropic => &sent.body["output_config"]["format"]["type"],
            ModelProtocol::Ollama => &sent.body["format"],
        };
        let expected = match (protocol, output) {
            (ModelProtocol::Ollama, _) => json!("json"),
            (_, StructuredOutput::Schema) => json!("json_schema"),
            (_, StructuredOutput::Json) => json!("json_object"),
            (_, StructuredOutput::Prompt) => json!(null),
        };
        assert_eq!(*format, expected, "{}", sent.body);
    }
}

#[tokio::test]
async fn server_without_a_key_gets_none() {
    let server = ModelServer::start(|_| Reply::text("fine")).await;
    let model = model_with(&server, ModelProtocol::OpenAi, |settings| settings.api_key_file = None);
    answer(&model, &question()).await.expect("an answer");
    assert_eq!(server.requests()[0].key, None);
}

#[test]
fn role_without_a_model_says_how_to_configure_one() {
    let error = ChatModels::default().with_role(ModelRole::Judge).expect_err("no model");
    assert_eq!(error, Error::NotConfigured { role: ModelRole::Judge });
    assert!(error.to_string().contains("`roles: [judge]`"), "{error}");
}

#[test]
fn model_of_clients_is_no_model_of_the_service() {
    let settings = json!({"models": {"client": {"provider": "mcp_sampling", "roles": ["judge"]}}});
    let settings: ChatSettings = serde_json::from_value(settings).expect("settings");
    let models = ChatModels::open(&settings).expect("models");
    let error = models.with_role(ModelRole::Judge).expect_err("no server");
    assert_eq!(error, Error::OfClients { role: ModelRole::Judge, model: "client".to_owned() });
    assert_eq!(models.iter().count(), 0, "doctor asks none");
    assert_eq!(models.client_model().expect("configured").name(), "client");
}

#[test]
fn wrong_settings_name_the_model_and_the_field() {
    for (change, message) in [
        (json!({"provider": "openai_compatible"}), "chat.models.m.base_url: is required"),
        (json!({"base_url": "ftp://a.example/v1"}), "chat.models.m.base_url: must be http"),
        (json!({"base_url": "http://u:p@a.example/v1"}), "without a password"),
        (json!({"model": " "}), "chat.models.m.model: must name a model"),
        (json!({"max_prompt_bytes": 0}), "chat.models.m.max_prompt_bytes: must be from 1 to"),
        (json!({"timeout_seconds": u64::MAX}), "chat.models.m.timeout_seconds: must be from 1 to"),
        (json!({"max_concurrent": usize::MAX}), "chat.models.m.max_concurrent: must be from 1 to"),
        (json!({"provider": "openai", "api_key_env": "MC_NO_SUCH_KEY"}), "MC_NO_SUCH_KEY"),
        (json!({"roles": ["judge", "judge"]}), "judge is also a role of m"),
        (json!({"provider": "mcp_sampling", "roles": ["writer"]}), "m.roles: must be [judge]"),
        (json!({"provider": "mcp_sampling", "roles": []}), "m.roles: must be [judge]"),
        (json!({"provider": "mcp_sampling", "base_url": "http://a.example"}), "m.base_url: can't"),
        (json!({"provider": "mcp_sampling", "api_key_env": "KEY"}), "m.api_key_env: can't be set"),
        (json!({"provider": "mcp_sampling", "api_key_file": "/k"}), "m.api_key_file: can't be"),
    ] {
        let mut settings = json!({"provider": "lm_studio", "model": "m", "roles": ["judge"]});
        for (field, value) in change.as_object().expect("an object") {
            settings[field] = value.clone();
        }
        let settings: ChatSettings =
            serde_json::from_value(json!({"models": {"m": settings}})).expect("settings");
        let error = ChatModels::open(&settings).expect_err("an error").to_string();
        assert!(error.contains(message), "{error}");
    }
}
