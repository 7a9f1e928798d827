//! Definition of a tool.

use http::Method;
use mc_contract::Request;
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::Value;
use utoipa::ToSchema;

use crate::core::CoreError;
use crate::settings::Toolset;

/// Definition of a tool: one type in one file, registered in [`TOOLS`](super::TOOLS).
pub trait Definition {
    /// Description for models, and behavior.
    const SPEC: Spec;
    /// Request of the operation that it calls.
    type Request: Request + ToSchema;
    /// Arguments that are not fields of the request.
    type Own: Request + ToSchema;
    /// Structured content of its result.
    type Response: ToSchema;

    /// Renders the Core's `response` to a call with `arguments`.
    fn result(arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError>;
}

/// Description of a tool for models, and its behavior.
#[derive(Debug)]
pub struct Spec {
    /// Name in `tools/list`.
    pub name: &'static str,
    /// Title for people.
    pub title: &'static str,
    /// When to call the tool, from the point of view of the model. Every word costs tokens in every
    /// conversation.
    pub description: &'static str,
    /// Toolsets that include it.
    pub toolsets: &'static [Toolset],
    /// Effect on stored data.
    pub effect: Effect,
    /// Operation of the Core that it calls.
    pub route: Route,
    /// Whether the request has a project.
    pub names_project: bool,
    /// How handles of a bundle are resolved.
    pub handles: Handles,
    /// Arguments in order, in addition to `project_key`.
    pub arguments: &'static [Argument],
    /// A list of the request that always has the same items.
    pub fixed: Option<(&'static str, &'static [&'static str])>,
    /// Guaranteed fields of the structured content.
    pub output: &'static [&'static str],
}

impl Spec {
    /// Returns whether the tool works in the edit phase only.
    pub fn is_of_edit_phase(&self) -> bool {
        matches!(self.route, Route::Navigation(part) if part != Route::NAVIGATOR)
    }

    /// Returns whether the tool has subcommands.
    pub fn has_subcommands(&self) -> bool {
        self.arguments.iter().any(|argument| argument.name == SUBCOMMAND)
    }
}

/// Argument with the subcommand of a tool.
pub const SUBCOMMAND: &str = "subcommand";

/// Effect of a tool. All hints of the protocol are derived from it, because the protocol's defaults
/// are pessimistic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It only reads data.
    Reads,
    /// It adds data.
    Adds,
    /// It may replace or delete data.
    Replaces,
}

/// Operation of the Core that a tool calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// One request with the method to the path. Fields of the request fill the placeholders of the
    /// path, as in `/records/{id}`, with ids or keys; the others are the query of a `GET` or
    /// `DELETE`, or the body.
    Call(Method, &'static str),
    /// Several requests, of which the first successful one is used.
    Lookup,
    /// A patch run in the workspace of the argument `workspaceId`: a request to start one, to this
    /// path below the workspace with the argument `patchId`, or to follow or cancel that of the
    /// argument `runId`.
    PatchRun(&'static str),
    /// A request to the navigation whose handle is the argument `handle`, or that of the session,
    /// or a new one in the workspace `workspaceId`. This is the last part of its path.
    Navigation(&'static str),
}

impl Route {
    /// Part of the path that the tool `navigator` calls.
    pub const NAVIGATOR: &'static str = "navigator";
}

/// Resolution of handles in the arguments of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handles {
    /// Not at all: arguments stay as they are, since texts are texts of files.
    None,
    /// To the id of a record, or of a dialog for the argument `dialog_id`.
    Ids,
    /// To the id of any item. The bundle is part of the request.
    Items,
    /// To the item to read.
    Read,
}

/// Argument of a tool.
#[derive(Debug, Clone, Copy)]
pub struct Argument {
    /// Name for models.
    pub name: &'static str,
    /// Field of the request or of the tool's own arguments.
    pub field: &'static str,
    /// Whether it is a field of the tool's own arguments.
    pub is_own: bool,
    /// Whether it is required.
    pub is_required: bool,
    /// Description for models; empty if the name is enough.
    pub words: &'static str,
}

impl Argument {
    /// Creates an argument for a field of the request.
    pub const fn new(name: &'static str, words: &'static str) -> Self {
        Self { name, field: name, is_own: false, is_required: false, words }
    }

    /// Creates an argument for a field of the tool's own arguments.
    pub const fn own(name: &'static str, words: &'static str) -> Self {
        Self { is_own: true, ..Self::new(name, words) }
    }

    /// Sets the name for models.
    pub const fn with_name(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// Makes the argument required.
    pub const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }
}
