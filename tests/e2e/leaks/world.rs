//! The service under test, with all requests and responses.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use reqwest::{Method, Response, header};
use serde_json::Value;

use super::canaries::{CanaryGenerator, Form, Kind};
use super::model;
use super::witness::Witness;
use crate::harness::{Service, direct_client};

pub const PROJECT: &str = "shop";
/// The project whose policy quarantines text with secrets.
pub const HOLDING: &str = "bank";

/// A service with a database of its own, and a model server that records its requests.
pub struct World {
    pub service: Service,
    pub model: model::Server,
    pub generator: CanaryGenerator,
    pub witness: Witness,
    client: reqwest::Client,
}

impl World {
    pub async fn new() -> Self {
        let model = model::Server::start(|_, body| model::vectors(body)).await;
        let mut service = Service::prepared();
        for (name, value) in [
            ("MEMORY_COPILOT__EMBEDDING__PROVIDER", "openai"),
            ("MEMORY_COPILOT__EMBEDDING__MODEL", "scripted"),
            ("MEMORY_COPILOT__EMBEDDING__BASE_URL", model.base_url().as_str()),
            ("MEMORY_COPILOT__LOG__LEVEL", "debug,rmcp=debug,sqlx::postgres::notice=debug"),
        ] {
            service.set(name, PathBuf::from(value));
        }
        service.launch().await;
        service.project(PROJECT).await;
        let (generator, witness) = (CanaryGenerator::default(), Witness::default());
        Self { service, model, generator, witness, client: direct_client() }
    }

    /// Sends a request with the token and records the response's head and body. Returns null if the
    /// response is not JSON.
    pub async fn send(&mut self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let token = self.service.token();
        let request = self.client.request(method, format!("{}{path}", self.service.url));
        let request = request.bearer_auth(token);
        let request = if body.is_null() { request } else { request.json(body) };
        self.answer(path, request).await
    }

    /// Sends a body that is not JSON, or without the token.
    pub async fn send_raw(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (u16, Value) {
        let mut request = self.client.request(method, format!("{}{path}", self.service.url));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.answer(path, request.body(body.to_owned())).await
    }

    /// Sends a request whose response contains a secret, and does not record it.
    pub async fn send_unrecorded(&mut self, path: &str, body: &Value) -> Value {
        let request = self.client.post(format!("{}{path}", self.service.url)).json(body);
        let answer = request.bearer_auth(self.service.token()).send().await.expect("an answer");
        answer.json().await.expect("JSON")
    }

    async fn answer(&mut self, path: &str, request: reqwest::RequestBuilder) -> (u16, Value) {
        let answer = request.send().await.expect("an answer");
        let (status, media) = (answer.status().as_u16(), media_type(&answer));
        let head = format!("{:?}", answer.headers());
        let text = answer.text().await.expect("a body");
        let route: String = path.chars().take_while(|c| *c != '?').take(24).collect();
        self.witness.note(format!("answer {status} of {route}, head"), head);
        self.witness.note(format!("answer {status} of {route}"), text.as_bytes());
        let read = |text: &str| -> Value {
            let value = serde_json::from_str(text);
            value.unwrap_or_else(|error| panic!("{path} answered {status}, {error}: {text}"))
        };
        let body = match media.as_str() {
            "application/json" | "application/problem+json" => read(&text),
            "application/x-ndjson" => text.lines().map(read).collect(),
            _ => Value::Null,
        };
        (status, body)
    }

    /// Sends `GET` and expects success and JSON.
    pub async fn get(&mut self, path: &str) -> Value {
        let (status, answer) = self.send(Method::GET, path, &Value::Null).await;
        assert!(status == 200 && !answer.is_null(), "{path} answered {status}: {answer}");
        answer
    }

    /// Sends `POST` and expects success and JSON.
    pub async fn post(&mut self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.send(Method::POST, path, body).await;
        let is_read = status < 300 && !answer.is_null();
        assert!(is_read, "{path} answered {status}: {answer}\n{body}");
        answer
    }

    /// Sets a project's policy, whatever its version.
    pub async fn set_policy(&mut self, project: &str, policy: &Value) {
        let path = format!("/projects/{project}/policy");
        let request = self.client.put(format!("{}{path}", self.service.url));
        let request = request.bearer_auth(self.service.token()).header(header::IF_MATCH, "*");
        let (status, answer) = self.answer(&path, request.json(policy)).await;
        assert_eq!(status, 200, "{answer}");
    }

    /// Runs a command and records its output.
    pub fn run(&mut self, args: &[&str]) -> bool {
        self.run_with(args, Path::new("/"), "")
    }

    /// Runs a command in a directory with an input, and records its output.
    pub fn run_with(&mut self, args: &[&str], directory: &Path, input: &str) -> bool {
        let mut command = self.service.command(args);
        command.current_dir(directory);
        let place = format!("output of {}", args[..2.min(args.len())].join(" "));
        let (succeeded, said) = output_of(command, input);
        self.witness.note(place, said);
        succeeded
    }

    /// Returns a canary as a word of limited length, if the kind has one.
    pub fn word(&mut self, place: &str, kind: Kind, most: usize) -> Option<String> {
        // These are recognized by their names only.
        if matches!(kind, Kind::Password | Kind::AwsPair) {
            return None;
        }
        self.fitting(most, |generator| generator.word(place, kind))
    }

    /// Returns a line of limited length.
    pub fn line(&mut self, place: &str, kind: Kind, most: usize) -> Option<String> {
        self.fitting(most, |generator| generator.text(place, kind, Form::Env))
    }

    fn fitting(
        &mut self,
        most: usize,
        draw: impl Fn(&mut CanaryGenerator) -> String,
    ) -> Option<String> {
        let text = draw(&mut self.generator);
        let fits = text.chars().count() <= most && !text.contains('\n');
        if !fits {
            self.generator.generated.pop();
        }
        fits.then_some(text)
    }
}

/// Returns the media type of the body, without parameters.
fn media_type(answer: &Response) -> String {
    let declared = answer.headers().get(header::CONTENT_TYPE);
    let declared = declared.and_then(|value| value.to_str().ok()).unwrap_or_default();
    declared.split(';').next().unwrap_or_default().trim().to_owned()
}

/// Returns the output of a process on both streams for an input.
pub fn output_of(mut command: Command, input: &str) -> (bool, Vec<u8>) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().expect("it starts");
    let mut pipe = process.stdin.take().expect("its input");
    let input = input.to_owned();
    let writer = std::thread::spawn(move || {
        // A command that does not read its input closes it.
        let _ = std::io::Write::write_all(&mut pipe, input.as_bytes());
    });
    let output = process.wait_with_output().expect("it ends");
    writer.join().expect("the input was written");
    (output.status.success(), [output.stdout, output.stderr].concat())
}
