//! Faults of servers and models, with the scripted server.

mod support;

use std::time::{Duration, Instant};

use mc_chat::{Content, Error};
use mc_testkit::{ModelProtocol, ModelServer, Reply};
use support::{answer, model, question, score};

const KEY: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

#[tokio::test]
async fn transient_failures_are_retried_three_times() {
    for protocol in ModelProtocol::ALL {
        let server = ModelServer::start(|request| match request.number {
            0 => Reply::status(500, "down"),
            1 => Reply::status(429, "slow down").retry_after(1),
            2 => Reply::text("half").broken_off_after(1),
            _ => Reply::text("fine").with_usage(7, 2),
        });
        let server = server.await;
        let begun = Instant::now();
        let completion = answer(&model(&server, protocol), &question()).await.expect("an answer");
        assert_eq!(completion.content, Content::Text(support::sanitized("fine")), "{protocol:?}");
        assert!(begun.elapsed() >= Duration::from_secs(1), "Retry-After is respected");
        assert!(completion.usage.prompt_tokens > 7, "the broken answer counts as well");
        assert_eq!(server.requests().len(), 4);
    }
}

#[tokio::test]
async fn failing_server_is_given_up_and_then_paused() {
    let server = ModelServer::start(|_| Reply::status(503, "down")).await;
    let model = model(&server, ModelProtocol::OpenAi);
    let failure = answer(&model, &question()).await.expect_err("no answer");
    assert!(failure.error.to_string().contains("status 503; check that it runs"), "{failure}");
    assert_eq!((server.requests().len(), failure.usage.total()), (4, 0));
    let failure = answer(&model, &question()).await.expect_err("no answer");
    assert!(matches!(failure.error, Error::Paused { .. }), "{failure}");
    assert_eq!(server.requests().len(), 5, "one more, and the circuit is open");
}

#[tokio::test]
async fn long_retry_after_is_not_waited_for() {
    let server = ModelServer::start(|_| Reply::status(429, "limit").retry_after(60)).await;
    let failure =
        answer(&model(&server, ModelProtocol::Anthropic), &question()).await.expect_err("none");
    let wait = Some(Duration::from_mins(1));
    assert!(matches!(failure.error, Error::RateLimited { retry_after, .. } if retry_after == wait));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn rejected_request_is_not_repeated_and_its_message_is_masked() {
    for protocol in ModelProtocol::ALL {
        let server = ModelServer::start(|_| Reply::status(400, format!("bad {KEY}"))).await;
        let failure = answer(&model(&server, protocol), &question()).await.expect_err("no answer");
        let text = failure.error.to_string();
        assert!(text.contains("status 400): bad [secret:github-token]; check `model`"), "{text}");
        assert_eq!(server.requests().len(), 1);
        let server = ModelServer::start(|_| Reply::status(401, KEY)).await;
        let failure = answer(&model(&server, protocol), &question()).await.expect_err("no answer");
        let text = failure.error.to_string();
        assert!(text.contains("refused the key (status 401)") && !text.contains(KEY), "{text}");
    }
}

#[tokio::test]
async fn slow_answer_times_out_and_is_charged() {
    for protocol in ModelProtocol::ALL {
        let slow =
            |_: &_| Reply::text("a long answer ".repeat(50)).slowly(Duration::from_millis(200));
        let server = ModelServer::start(slow).await;
        let model = support::model_with(&server, protocol, |settings| settings.timeout_seconds = 1);
        let failure = answer(&model, &question()).await.expect_err("no answer");
        assert!(matches!(failure.error, Error::TimedOut { .. }), "{protocol:?} {failure}");
        assert!(failure.usage.completion_tokens > 0);
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn large_answer_is_stopped() {
    for protocol in ModelProtocol::ALL {
        let server = ModelServer::start(|_| Reply::text("x ".repeat(500_000))).await;
        let failure = answer(&model(&server, protocol), &question()).await.expect_err("no answer");
        assert_eq!(failure.error, Error::AnswerTooLarge { max_bytes: 12 * 1024 });
        assert!(failure.usage.completion_tokens >= 12 * 1024 / 4);
    }
}

#[tokio::test]
async fn large_prompt_is_not_sent() {
    let server = ModelServer::start(|_| Reply::text("fine")).await;
    let model = model(&server, ModelProtocol::OpenAi);
    let question = support::sanitized(&"word ".repeat(4_000));
    let request = mc_chat::ChatRequest::new(support::sanitized("Answer."), question);
    let failure = answer(&model, &request).await.expect_err("no answer");
    assert!(failure.error.to_string().starts_with("the prompt has 2000"), "{failure}");
    assert_eq!((server.requests().len(), failure.usage.total()), (0, 0));
}

#[tokio::test]
async fn refusal_and_token_limit_are_told_apart() {
    let server = ModelServer::start(|request| match request.number {
        0 => Reply::text("I can't help with that.").declined(),
        _ => Reply::text("It is beca").cut_by_token_limit(),
    });
    let model = model(&server.await, ModelProtocol::OpenAi);
    let declined = answer(&model, &question()).await.expect_err("no answer");
    assert!(matches!(declined.error, Error::Declined { .. }), "{declined}");
    let cut = answer(&model, &question()).await.expect_err("no answer");
    assert!(cut.error.to_string().contains("limit of 4096 tokens"), "{cut}");
}

#[tokio::test]
async fn json_of_another_form_is_an_error() {
    for (reply, defect) in [
        ("I would say 0.9.", "no JSON"),
        ("{\"score\": 0.9", "no JSON"),
        ("{\"points\": 9}", "its schema at /"),
        ("{\"score\": \"ignore the schema\"}", "at /properties/score/type"),
        ("", "an empty answer"),
    ] {
        let server = ModelServer::start(move |_| Reply::text(reply)).await;
        let request = question().with_json(score());
        let model = model(&server, ModelProtocol::OpenAi);
        let failure = answer(&model, &request).await.expect_err("no answer");
        let text = failure.error.to_string();
        assert!(text.contains(defect) && !text.contains("ignore"), "{reply}: {text}");
        assert!(failure.usage.total() > 0);
    }
}

#[tokio::test]
async fn stream_of_another_format_is_an_error() {
    use ModelProtocol::{Anthropic, Ollama, OpenAi};
    for (protocol, body) in [
        (OpenAi, "data: nonsense\n\n"),
        (Anthropic, "event: message_start\ndata: [\n\n"),
        (Ollama, "<html>\n"),
    ] {
        let server = ModelServer::start(move |_| Reply::raw(body)).await;
        let failure = answer(&model(&server, protocol), &question()).await.expect_err("no answer");
        let text = failure.error.to_string();
        assert_eq!(text, "the model small returned a stream of an unknown format", "{protocol:?}");
        assert_eq!(server.requests().len(), 1);
    }
    // Other lines of server-sent events are ignored, so nothing was answered.
    let server = ModelServer::start(|_| Reply::raw("<html>busy</html>")).await;
    let failure = answer(&model(&server, OpenAi), &question()).await.expect_err("no answer");
    assert!(failure.error.to_string().contains("it broke off its answer"), "{failure}");
}

#[tokio::test]
async fn secret_in_an_answer_is_masked() {
    let server = ModelServer::start(|_| Reply::text(format!("use {KEY} there"))).await;
    let completion =
        answer(&model(&server, ModelProtocol::Ollama), &question()).await.expect("an answer");
    let masked = support::sanitized("use [secret:github-token] there");
    assert_eq!(completion.content, Content::Text(masked));
}

#[tokio::test]
async fn dropped_request_is_cancelled() {
    let server = ModelServer::start(|_| Reply::text("late").after(Duration::from_mins(1))).await;
    let model = model(&server, ModelProtocol::OpenAi);
    let request = question();
    tokio::select! {
        _ = answer(&model, &request) => panic!("no answer yet"),
        () = support::until(|| server.requests().len() == 1) => {}
    }
    // The only permit is free again.
    tokio::select! {
        _ = answer(&model, &request) => panic!("no answer yet"),
        () = support::until(|| server.requests().len() == 2) => {}
    }
}
