//! What the file of a tool defines.

use mc_contract::Request;
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::Value;
use utoipa::ToSchema;

use crate::core::CoreError;
use crate::settings::Toolset;

/// The definition of a tool: one type in one file, registered in [`TOOLS`](super::TOOLS).
pub trait Definition {
    /// What a model reads about it, and what it does.
    const SPEC: Spec;
    /// The request of the operation that it calls.
    type Request: Request + ToSchema;
    /// Arguments that are no fields of the request.
    type Own: Request + ToSchema;
    /// The structured content of its result.
    type Response: ToSchema;

    /// Renders the Core's `response` to a call with `arguments`.
    fn result(arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError>;
}

/// What a model reads about a tool, and what it does.
#[derive(Debug)]
pub struct Spec {
    /// The name in `tools/list`.
    pub name: &'static str,
    /// The title that people see.
    pub title: &'static str,
    /// When to call it, in the words of the moment: a memory that is never called is of no use.
    /// Every word is paid for in every conversation.
    pub description: &'static str,
    /// The groups that it belongs to.
    pub toolsets: &'static [Toolset],
    /// What it changes.
    pub effect: Effect,
    /// The operation of the Core that it calls.
    pub route: Route,
    /// Whether the request names its project.
    pub names_project: bool,
    /// What a handle of a bundle stands for.
    pub handles: Handles,
    /// Its arguments in order, besides `project_key`.
    pub arguments: &'static [Argument],
    /// A list of the request that always has the same items.
    pub fixed: Option<(&'static str, &'static [&'static str])>,
    /// The fields of the structured content that callers may rely on.
    pub output: &'static [&'static str],
}

/// What a tool changes. All hints of the protocol follow from it, since the protocol's defaults are
/// the pessimistic ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Reads,
    /// It adds to what is there.
    Adds,
    /// It may replace or delete what is there.
    Replaces,
}

/// The operation of the Core that a tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// `POST` of the arguments to a path.
    Post(&'static str),
    /// `DELETE` of the resource below a path that the argument `id` names.
    Delete(&'static str),
    /// Several requests, of which the first that finds something counts.
    Lookup,
}

/// What a handle of a bundle stands for in the arguments of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handles {
    /// The id of a record, or of a dialog if the argument names one.
    Ids,
    /// The id of any item. The bundle is part of the request.
    Items,
    /// The item that is to be read.
    Read,
}

/// An argument of a tool.
#[derive(Debug, Clone, Copy)]
pub struct Argument {
    /// The name that models use.
    pub name: &'static str,
    /// The field that it is: of the request or of the tool's own arguments.
    pub field: &'static str,
    /// Whether it is a field of the tool's own arguments.
    pub is_own: bool,
    /// Whether a call must have it.
    pub is_required: bool,
    /// What a model reads about it; empty if the name says enough.
    pub words: &'static str,
}

impl Argument {
    /// A field of the request.
    pub const fn new(name: &'static str, words: &'static str) -> Self {
        Self { name, field: name, is_own: false, is_required: false, words }
    }

    /// A field of the tool's own arguments.
    pub const fn own(name: &'static str, words: &'static str) -> Self {
        Self { is_own: true, ..Self::new(name, words) }
    }

    /// The same under the name `name`.
    pub const fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// The same, required.
    pub const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }
}
