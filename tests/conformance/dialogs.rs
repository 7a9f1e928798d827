//! Requests that can't be answered before the client has answered questions (SEP-2322).
//!
//! The server keeps nothing between the rounds: how far a dialog has come is in `requestState`,
//! sealed and bound to the dialog.

use rmcp::ErrorData;
use rmcp::model::{
    ClientCapabilities, CreateMessageResult, ElicitResult, ElicitationAction, InputRequest,
    InputRequiredResult, InputResponses, ListRootsResult, RequestStateCodec, SealOptions,
};
use serde_json::{Value, json};

/// Enough for a test; the real thing would make one at its start.
const KEY: &[u8] = b"a key for tests, known to everybody";

/// Rounds of questions.
pub struct Dialog {
    /// The tool or prompt.
    pub name: &'static str,
    /// Whether answers count only together with the state that came with the questions.
    sealed: bool,
    rounds: &'static [&'static [Question]],
}

struct Question {
    key: &'static str,
    text: &'static str,
    kind: Kind,
}

enum Kind {
    /// A form with one required field of a JSON type.
    Form(&'static str, &'static str),
    Sampling,
    Roots,
}

const fn form(key: &'static str, text: &'static str, field: &'static str) -> Question {
    Question { key, text, kind: Kind::Form(field, "string") }
}

const CONFIRM: Question =
    Question { key: "confirm", text: "Please confirm", kind: Kind::Form("ok", "boolean") };
const NAME: Question = form("user_name", "What is your name?", "name");
const ROOTS: Question = Question { key: "client_roots", text: "", kind: Kind::Roots };
const CAPITAL: Question = Question {
    key: "capital_question",
    text: "What is the capital of France?",
    kind: Kind::Sampling,
};
const GREETING: Question =
    Question { key: "greeting", text: "Generate a greeting", kind: Kind::Sampling };
const STEP_1: Question = form("step1", "Step 1: What is your name?", "name");
const STEP_2: Question = form("step2", "Step 2: What is your favorite color?", "color");
const CONTEXT: Question = form("user_context", "What context should the prompt use?", "context");

const fn open(name: &'static str, rounds: &'static [&'static [Question]]) -> Dialog {
    Dialog { name, sealed: false, rounds }
}

const fn sealed(name: &'static str, rounds: &'static [&'static [Question]]) -> Dialog {
    Dialog { name, sealed: true, rounds }
}

/// The tool that starts a task when its questions are answered.
pub const BEFORE_A_TASK: &str = "test_tool_with_task";

/// The tools.
pub const TOOLS: &[Dialog] = &[
    open("test_input_required_result_elicitation", &[&[NAME]]),
    open(BEFORE_A_TASK, &[&[NAME]]),
    open("test_input_required_result_sampling", &[&[CAPITAL]]),
    open("test_input_required_result_list_roots", &[&[ROOTS]]),
    open("test_input_required_result_capabilities", &[&[NAME, CAPITAL]]),
    open("test_streaming_elicitation", &[&[NAME]]),
    open("test_missing_capability", &[&[CAPITAL]]),
    sealed("test_input_required_result_request_state", &[&[CONFIRM]]),
    sealed("test_input_required_result_tampered_state", &[&[CONFIRM]]),
    sealed("test_input_required_result_multiple_inputs", &[&[NAME, GREETING, ROOTS]]),
    sealed("test_input_required_result_multi_round", &[&[STEP_1], &[STEP_2]]),
];

/// The prompt.
pub const PROMPT: Dialog = open("test_input_required_result_prompt", &[&[CONTEXT]]);

/// Where a dialog stands.
pub enum Next {
    Ask(InputRequiredResult),
    /// Everything is answered; the answers in words.
    Done(String),
}

impl Dialog {
    /// The next step after a request that brought `answers` and `state`.
    ///
    /// Fails with invalid params on a state that isn't ours, and when the client declares none of
    /// the capabilities that the questions need. Invalid responses are requested again.
    pub fn next(
        &self,
        answers: Option<&InputResponses>,
        state: Option<&str>,
        capabilities: &ClientCapabilities,
    ) -> Result<Next, ErrorData> {
        let round = state.map_or(Ok(0), |state| self.opened(state))?;
        let may_count = state.is_some() || !self.sealed;
        let questions = answerable(self.rounds[round], capabilities)?;
        let answered = answers
            .filter(|answers| may_count && questions.iter().all(|question| question.fits(answers)));
        match (answered, self.rounds.get(round + 1)) {
            (None, _) => Ok(Next::Ask(self.ask(round, &questions))),
            (Some(_), Some(more)) => {
                Ok(Next::Ask(self.ask(round + 1, &answerable(more, capabilities)?)))
            }
            (Some(answers), None) => Ok(Next::Done(format!("state-ok: {}", json!(answers)))),
        }
    }

    fn ask(&self, round: usize, questions: &[&Question]) -> InputRequiredResult {
        let requests =
            questions.iter().map(|question| (question.key.to_owned(), question.request()));
        let binding = SealOptions::new().associated_data(self.name.as_bytes());
        let state = self.sealed.then(|| codec().seal_with(round.to_string().as_bytes(), &binding));
        InputRequiredResult::new(Some(requests.collect()), state)
    }

    fn opened(&self, state: &str) -> Result<usize, ErrorData> {
        let round = codec().open_with(state, self.name.as_bytes()).ok();
        let round = round.and_then(|round| String::from_utf8(round).ok()?.parse().ok());
        let ours = round.filter(|round| *round < self.rounds.len());
        ours.ok_or_else(|| ErrorData::invalid_params("requestState is not of this server", None))
    }
}

fn codec() -> RequestStateCodec {
    RequestStateCodec::try_new(KEY).expect("the key is long enough")
}

/// Those of the questions that the client can answer.
fn answerable<'a>(
    questions: &'a [Question],
    capabilities: &ClientCapabilities,
) -> Result<Vec<&'a Question>, ErrorData> {
    let can = |question: &&Question| question.is_covered_by(capabilities);
    let possible: Vec<&Question> = questions.iter().filter(can).collect();
    if possible.is_empty() {
        let needed = questions.iter().map(|question| (question.capability().to_owned(), json!({})));
        let needed = serde_json::from_value(Value::Object(needed.collect())).expect("capabilities");
        return Err(ErrorData::missing_required_client_capability(needed));
    }
    Ok(possible)
}

/// Asks for a form with one required field of a JSON type.
pub fn form_request(text: &str, field: &str, kind: &str) -> InputRequest {
    let request = json!({"method": "elicitation/create", "params": {
        "mode": "form", "message": text, "requestedSchema": {
            "type": "object", "properties": {field: {"type": kind}}, "required": [field]}}});
    serde_json::from_value(request).expect("a request of the protocol")
}

impl Question {
    fn request(&self) -> InputRequest {
        let request = match self.kind {
            Kind::Form(field, kind) => return form_request(self.text, field, kind),
            Kind::Sampling => json!({"method": "sampling/createMessage", "params": {
                "messages": [{"role": "user", "content": {"type": "text", "text": self.text}}],
                "maxTokens": 100}}),
            Kind::Roots => json!({"method": "roots/list", "params": {}}),
        };
        serde_json::from_value(request).expect("a request of the protocol")
    }

    fn fits(&self, answers: &InputResponses) -> bool {
        let answer = answers.get(self.key).cloned().unwrap_or_default();
        match self.kind {
            Kind::Form(field, _) => {
                let form: Option<ElicitResult> = serde_json::from_value(answer).ok();
                form.is_some_and(|form| {
                    form.action == ElicitationAction::Accept
                        && form.content.is_some_and(|content| content.get(field).is_some())
                })
            }
            Kind::Sampling => serde_json::from_value::<CreateMessageResult>(answer).is_ok(),
            Kind::Roots => serde_json::from_value::<ListRootsResult>(answer).is_ok(),
        }
    }

    fn capability(&self) -> &'static str {
        match self.kind {
            Kind::Form(..) => "elicitation",
            Kind::Sampling => "sampling",
            Kind::Roots => "roots",
        }
    }

    fn is_covered_by(&self, capabilities: &ClientCapabilities) -> bool {
        match self.kind {
            Kind::Form(..) => capabilities.elicitation.is_some(),
            Kind::Sampling => capabilities.sampling.is_some(),
            Kind::Roots => capabilities.roots.is_some(),
        }
    }
}
