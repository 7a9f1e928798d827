//! Why a call of the Core gave no answer, in words that a model can act on.

use std::io;
use std::path::PathBuf;

use http::StatusCode;
use mc_domain::{Classified, ErrorKind};
use serde::Deserialize;

/// The parts of an RFC 9457 problem that are passed on to the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Problem {
    /// Stable identifier of the problem.
    #[serde(rename = "type", default)]
    pub problem_type: String,
    /// Short summary.
    #[serde(default)]
    pub title: String,
    /// What is wrong with this request.
    #[serde(default)]
    pub detail: String,
    /// The field at fault.
    #[serde(default)]
    pub field: Option<String>,
    /// What to do about it.
    #[serde(default)]
    pub hint: Option<String>,
    /// What to look for in the service's log.
    #[serde(default)]
    pub request_id: Option<String>,
}

/// A call of the Core that failed. `Display` says what happened, the field where there is one, and
/// what to do next, to a person at a terminal as well as to a model.
#[derive(Debug, thiserror::Error)]
pub enum CoreError {
    /// Nothing listens at the address.
    #[error(
        "the Memory Copilot service does not answer at {url}. Start it with \
         `memory-copilot serve` (or `make run` in its checkout), then try again"
    )]
    NotRunning {
        /// The address that was tried.
        url: String,
    },
    /// The service writes its token at its first start; no token, no service.
    #[error(
        "the token file {} can't be read ({why}). The service writes it at its first start: \
         run `memory-copilot serve` (or `make run` in its checkout) as the same user, then try \
         again",
        path.display()
    )]
    TokenUnreadable {
        /// Where the token was expected.
        path: PathBuf,
        /// What the system said.
        why: io::ErrorKind,
    },
    /// The MCP request carried no token to forward.
    #[error(
        "no bearer token came with the request; set the Authorization header of this MCP server"
    )]
    NoToken,
    /// The service knows another token than the one in the file.
    #[error(
        "the service at {url} refuses the token in {}: it runs with another data_dir, or made a \
         new token. `memory-copilot serve` prints its token's place when it starts, and \
         `memory-copilot config show` the place where this program looks; make both the same",
        path.display()
    )]
    TokenRefused {
        /// The address that was called.
        url: String,
        /// Where the token was read.
        path: PathBuf,
    },
    /// The login that the program had is over.
    #[error(
        "you are not signed in at {url} ({why}). Run `memory-copilot login` in a terminal, then \
         try again"
    )]
    SignInNeeded {
        /// The address that was called.
        url: String,
        /// What happened.
        why: String,
    },
    /// The connection was there and broke before the answer was.
    #[error(
        "the connection to the service at {url} broke before it answered, so the call may have \
         been carried out. Call again: a save of the same text is merged with itself, and recall \
         shows what is kept"
    )]
    BrokenOff {
        /// The address that was called.
        url: String,
    },
    /// The service accepted the connection and did not answer in time.
    #[error(
        "the service did not answer within {seconds} s, so the call may have been carried out. \
         Call again once: a save of the same text is merged with itself, and recall shows what is \
         kept"
    )]
    TimedOut {
        /// How long the call waited.
        seconds: u64,
    },
    /// The Core refused the call and said why.
    #[error("{}", explain(*status, problem))]
    Refused {
        /// The HTTP status.
        status: StatusCode,
        /// The Core's own words.
        problem: Box<Problem>,
    },
    /// Something answered that is not the Core, or an answer that can't be read.
    #[error(
        "the service gave an answer that can't be read (HTTP {status}). Check that the address is \
         Memory Copilot's and run `memory-copilot doctor`"
    )]
    BadAnswer {
        /// The HTTP status.
        status: StatusCode,
    },
    /// The arguments don't make a request (a path that is no URI).
    #[error("the arguments can't be sent; check them for odd characters")]
    BadRequest,
}

fn explain(status: StatusCode, problem: &Problem) -> String {
    let what = if problem.detail.is_empty() { &problem.title } else { &problem.detail };
    let subject = match &problem.field {
        Some(field) if !what.contains(field.as_str()) => format!("{field}: {what}"),
        _ => what.clone(),
    };
    let hint = problem.hint.as_deref().and_then(without_routes);
    let next = match hint {
        Some(hint) => capitalised(&hint),
        // What follows a semicolon is the way out already.
        None if subject.contains("; ") => String::new(),
        None => next_step(status, problem.request_id.as_deref()),
    };
    let stop = if subject.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{subject}{stop} {next}").trim_end().to_owned()
}

/// The hint for those who have tools or a command line and no HTTP client: what it says of a route
/// is left out, or said otherwise; `None` if nothing remains.
fn without_routes(hint: &str) -> Option<String> {
    let names_route =
        |text: &str| ["GET /", "POST /", "PUT /", "DELETE /"].iter().any(|m| text.contains(m));
    if !names_route(hint) {
        return Some(hint.to_owned());
    }
    let rest: Vec<&str> = hint.split(", or ").filter(|clause| !names_route(clause)).collect();
    let otherwise = || {
        let words = [
            ("/search", "search finds it by what it says (sources: [\"doc\"] for documents)"),
            ("/records", "recall and search give the ids of the records that are there"),
        ];
        words.iter().find(|(route, _)| hint.contains(route)).map(|(_, words)| *words)
    };
    if rest.is_empty() { otherwise().map(ToOwned::to_owned) } else { Some(rest.join(", or ")) }
}

/// A hint begins a sentence here; names and commands stay as they are written.
fn capitalised(text: &str) -> String {
    let first_word = text.split(' ').next().unwrap_or_default();
    let is_word = first_word.chars().all(char::is_lowercase);
    match text.chars().next() {
        Some(first) if is_word => first.to_uppercase().chain(text.chars().skip(1)).collect(),
        _ => text.to_owned(),
    }
}

fn next_step(status: StatusCode, request_id: Option<&str>) -> String {
    match kind_of(status) {
        // The rule that was broken says how to keep it.
        ErrorKind::Invalid => String::new(),
        ErrorKind::Unauthenticated => "Check the token that this client sends.".into(),
        ErrorKind::Forbidden => "Ask for access; the same call will be refused again.".into(),
        ErrorKind::NotFound => "Check the name or id.".into(),
        ErrorKind::Conflict => "Read it again, then decide anew.".into(),
        ErrorKind::TooLarge => "Send less text.".into(),
        ErrorKind::RateLimited | ErrorKind::Unavailable => {
            "Wait a few seconds, then try again.".into()
        }
        ErrorKind::Internal => {
            let request = request_id.map(|id| format!(" (request {id})")).unwrap_or_default();
            format!("A fault of the service{request}: its log says more.")
        }
    }
}

fn kind_of(status: StatusCode) -> ErrorKind {
    match status.as_u16() {
        401 => ErrorKind::Unauthenticated,
        403 => ErrorKind::Forbidden,
        404 | 410 => ErrorKind::NotFound,
        409 | 412 => ErrorKind::Conflict,
        413 => ErrorKind::TooLarge,
        429 => ErrorKind::RateLimited,
        408 | 502..=504 => ErrorKind::Unavailable,
        400..=499 => ErrorKind::Invalid,
        _ => ErrorKind::Internal,
    }
}

impl Classified for CoreError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NotRunning { .. }
            | Self::TokenUnreadable { .. }
            | Self::BrokenOff { .. }
            | Self::TimedOut { .. } => ErrorKind::Unavailable,
            Self::NoToken | Self::TokenRefused { .. } | Self::SignInNeeded { .. } => {
                ErrorKind::Unauthenticated
            }
            Self::Refused { status, .. } => kind_of(*status),
            Self::BadAnswer { .. } => ErrorKind::Internal,
            Self::BadRequest => ErrorKind::Invalid,
        }
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::Refused { problem, .. } => problem.field.clone(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, problem: Problem) -> String {
        let status = StatusCode::from_u16(status).expect("a status");
        CoreError::Refused { status, problem: problem.into() }.to_string()
    }

    #[test]
    fn a_problem_names_its_field_once_and_the_next_step() {
        let problem = Problem {
            detail: "must not be empty".into(),
            field: Some("content".into()),
            ..Problem::default()
        };
        assert_eq!(refused(422, problem), "content: must not be empty.");
        let problem = Problem {
            detail: "the text is too long; send less".into(),
            field: Some("content".into()),
            ..Problem::default()
        };
        assert_eq!(refused(413, problem), "content: the text is too long; send less.");
        let problem = Problem {
            detail: "no record r1".into(),
            field: Some("id".into()),
            ..Problem::default()
        };
        assert_eq!(refused(404, problem), "id: no record r1. Check the name or id.");
    }

    #[test]
    fn hints_speak_of_tools_and_commands_and_begin_a_sentence() {
        let cases = [
            (
                "create it with POST /projects {\"key\": \"shop\"}, or index a repository into it: \
                 memory-copilot ingest --project shop <path or URL>",
                "Index a repository into it: memory-copilot ingest --project shop <path or URL>",
            ),
            (
                "POST /search with sources [\"doc\"] finds documents by what they say",
                "Search finds it by what it says (sources: [\"doc\"] for documents)",
            ),
            (
                "GET /records lists those of a project",
                "Recall and search give the ids of the records that are there",
            ),
            ("index it with POST /ingest/git", "Check the name or id."),
            ("near titles: ADR Timing", "Near titles: ADR Timing"),
            ("task_external_id is the tracker's", "task_external_id is the tracker's"),
        ];
        for (hint, expected) in cases {
            let problem = Problem {
                detail: "there is no such thing".into(),
                hint: Some(hint.into()),
                ..Problem::default()
            };
            assert_eq!(refused(404, problem), format!("there is no such thing. {expected}"));
        }
    }

    #[test]
    fn a_fault_of_the_service_is_found_by_its_request_id() {
        let problem = Problem {
            title: "Internal error".into(),
            request_id: Some("r-1".into()),
            ..Problem::default()
        };
        assert_eq!(
            refused(500, problem),
            "Internal error. A fault of the service (request r-1): its log says more."
        );
    }
}
