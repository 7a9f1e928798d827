//! One request, the expected response, and the actual one.

use std::fmt::Write as _;

use axum::body::{Body, to_bytes};
use http::{Method, Request, StatusCode, header};
use mc_api::ConnectInfo;
use serde_json::Value;
use tower::ServiceExt as _;
use uuid::Uuid;

use crate::marks::{self, Places};
use crate::world::World;

/// Checks more of a response than its status; returns the error.
pub type Check = Box<dyn Fn(&Answer) -> Result<(), String> + Send + Sync>;

/// A request of a person, with the response that the oracle expects.
pub struct Attempt {
    pub operation: &'static str,
    pub method: Method,
    /// Path and query.
    pub target: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Option<String>,
    /// Statuses that the answer may have.
    pub expected: Vec<u16>,
    /// Owners whose marks and ids the response may contain, in addition to those of the request.
    pub places: Places,
    /// Owners whose ids the response may contain as well, but no text of them.
    pub ids: Places,
    /// A name or an id in the request of something that is not the caller's, and one that nothing
    /// has: with it, the answer must be the same.
    pub twin: Option<(String, String)>,
    /// A statement that the superuser of the database runs before the request.
    pub before: Option<String>,
    pub checks: Vec<Check>,
    /// How far the oracle lets it come: attempts that end at an early check teach nothing of later
    /// ones.
    pub reached: Reached,
}

/// The check that ends an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reached {
    Credential,
    Scope,
    Project,
    /// A role, or none.
    End,
}

impl Attempt {
    pub fn new(method: Method, target: impl Into<String>) -> Self {
        Self {
            operation: "",
            method,
            target: target.into(),
            headers: Vec::new(),
            body: None,
            expected: vec![200],
            places: Places::NONE,
            ids: Places::NONE,
            twin: None,
            before: None,
            checks: Vec::new(),
            reached: Reached::End,
        }
    }

    pub fn get(target: impl Into<String>) -> Self {
        Self::new(Method::GET, target)
    }

    pub fn delete(target: impl Into<String>) -> Self {
        Self::new(Method::DELETE, target).expect(204)
    }

    pub fn post(target: impl Into<String>, body: &Value) -> Self {
        Self::new(Method::POST, target).json(body)
    }

    pub fn json(mut self, body: &Value) -> Self {
        self.headers.push(("content-type", "application/json".into()));
        self.body = Some(body.to_string());
        self
    }

    pub fn form(mut self, fields: &[(&str, &str)]) -> Self {
        self.headers.push(("content-type", "application/x-www-form-urlencoded".into()));
        let form =
            url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.body = Some(form);
        self
    }

    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub fn expect(mut self, status: u16) -> Self {
        self.expected = vec![status];
        self
    }

    pub fn or(mut self, status: u16) -> Self {
        self.expected.push(status);
        self
    }

    pub fn places(mut self, places: Places) -> Self {
        self.places = places;
        self
    }

    pub fn before(mut self, sql: String) -> Self {
        self.before = Some(sql);
        self
    }

    pub fn check(
        mut self,
        check: impl Fn(&Answer) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.checks.push(Box::new(check));
        self
    }

    /// Requires that a successful response contains this mark: only marks that are shown at all can
    /// be missed.
    pub fn shows(self, mark: &str) -> Self {
        let mark = mark.to_owned();
        self.check(move |answer| {
            let is_there = !answer.is_success() || answer.text().contains(&mark);
            is_there.then_some(()).ok_or_else(|| format!("{mark} is missing"))
        })
    }

    /// Whether the oracle lets it through.
    pub fn is_allowed(&self) -> bool {
        self.expected.iter().any(|status| (200..300).contains(status))
    }

    /// The JSON that it sends.
    pub fn sent(&self) -> Value {
        self.body.as_deref().map_or(Value::Null, |body| serde_json::from_str(body).expect("JSON"))
    }

    /// All of it that a careful answer may repeat.
    fn held(&self) -> Vec<u8> {
        let mut held = self.target.clone().into_bytes();
        for part in self.headers.iter().map(|(_, value)| value).chain(&self.body) {
            held.push(b'\n');
            held.extend(part.as_bytes());
        }
        held
    }

    fn request(&self) -> Request<Body> {
        let mut request = Request::builder().method(self.method.clone()).uri(&self.target);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let body = self.body.clone().map_or_else(Body::empty, Body::from);
        let mut request = request.header(header::HOST, "127.0.0.1").body(body).expect("a request");
        let here = ([127, 0, 0, 1], 7391).into();
        request.extensions_mut().insert(ConnectInfo { peer: here, local: here, is_tls: false });
        request
    }

    fn instead(&self, of: &str, other: &str) -> Self {
        let replaced = |text: &String| text.replace(of, other);
        Self {
            headers: self.headers.iter().map(|(name, value)| (*name, replaced(value))).collect(),
            body: self.body.as_ref().map(replaced),
            ..Self::new(self.method.clone(), replaced(&self.target))
        }
    }
}

/// The response.
pub struct Answer {
    pub status: StatusCode,
    /// Head and body, as they are.
    pub bytes: Vec<u8>,
    pub body: Value,
}

impl Answer {
    pub async fn to(attempt: &Attempt, world: &World) -> Self {
        let response = world.router().oneshot(attempt.request()).await.expect("an answer");
        let (parts, body) = response.into_parts();
        let mut head = String::new();
        for (name, value) in &parts.headers {
            let value = String::from_utf8_lossy(value.as_bytes());
            writeln!(head, "{name}: {value}").expect("a string takes it");
        }
        let body = to_bytes(body, usize::MAX).await.expect("a body");
        let json = serde_json::from_slice(&body).unwrap_or_default();
        let bytes = [head.as_bytes(), b"\n", &body].concat();
        Self { status: parts.status, bytes, body: json }
    }

    pub fn is_success(&self) -> bool {
        self.status.is_success()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Returns the response without parts that differ each time: request ids and times.
    fn timeless(&self) -> String {
        let mut text = self.text();
        let request_id = text.lines().find_map(|line| line.strip_prefix("x-request-id: "));
        if let Some(id) = request_id.map(str::to_owned) {
            text = text.replace(&id, "<request>");
        }
        // The delimiters of untrusted text are random in each response.
        let around = text.find("<recalled ").map(|at| &text[at + 10..]);
        let nonce = around.and_then(|rest| rest.split('>').next()).map(str::to_owned);
        nonce.map_or(text.clone(), |nonce| text.replace(&nonce, "<nonce>"))
    }
}

/// Sends the request; returns the error in its response, or the ids in it that the world did not
/// know.
pub async fn make(attempt: &Attempt, world: &World) -> Result<Vec<Uuid>, String> {
    if let Some(sql) = &attempt.before {
        let sql = sql.trim_end().trim_end_matches(';');
        mc_store::testing::execute(world.url(), &format!("do $before$ begin {sql}; end $before$"))
            .await
            .map_err(|error| format!("the attempt could not be prepared: {error}"))?;
    }
    let answer = Answer::to(attempt, world).await;
    judge(attempt, world, &answer).await.map_err(|fault| {
        let text: String = answer.text().chars().take(1_500).collect();
        format!("{fault}\n--- {} {}\n{text}", answer.status, attempt.operation)
    })
}

async fn judge(attempt: &Attempt, world: &World, answer: &Answer) -> Result<Vec<Uuid>, String> {
    let status = answer.status.as_u16();
    if !attempt.expected.contains(&status) {
        return Err(format!("answered {status}, where the oracle says {:?}", attempt.expected));
    }
    let held = attempt.held();
    for (place, mark) in marks::marks_in(&answer.bytes, &held) {
        if !attempt.places.holds(place) {
            return Err(format!("shows {mark} of {}", world.describe(place)));
        }
    }
    let mut unknown = Vec::new();
    for id in marks::ids_in(&answer.bytes, &held) {
        match world.owner(id) {
            Some(place) if !(attempt.places | attempt.ids).holds(place) => {
                return Err(format!("shows {id}, an id of {}", world.describe(place)));
            }
            Some(_) => {}
            None => unknown.push(id),
        }
    }
    for check in &attempt.checks {
        check(answer)?;
    }
    compare_with_twin(attempt, world, answer).await?;
    Ok(unknown)
}

/// Times that a response is compared with that of its twin. Both may list the caller's projects,
/// which a concurrent attempt of the same caller may change in between.
const COMPARISONS: usize = 5;

/// Checks that the response to a foreign name is the same as to one that nothing has.
async fn compare_with_twin(
    attempt: &Attempt,
    world: &World,
    answer: &Answer,
) -> Result<(), String> {
    let Some((foreign, missing)) = &attempt.twin else { return Ok(()) };
    let mut one = answer.timeless();
    let mut other = String::new();
    for _ in 0..COMPARISONS {
        other = Answer::to(&attempt.instead(foreign, missing), world).await.timeless();
        if one.replace(foreign, "<name>") == other.replace(missing, "<name>") {
            return Ok(());
        }
        one = Answer::to(attempt, world).await.timeless();
    }
    Err(format!("what is not theirs differs from what is not there:\n{other}"))
}
