//! `/sgr` and `/projects/{key}/sgr`: reasoning schemas.

use chrono::{DateTime, Utc};
use mc_sgr::FieldType;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use crate::text::{SchemaFile, SchemaName};
use crate::{ProjectKey, Request};

path! {
    /// A reasoning schema, in a path.
    SchemaPath {
        /// The schema's name.
        schema: SchemaName,
    }

    /// A reasoning schema of a project, in a path.
    ProjectSchemaPath {
        /// The project's key.
        key: ProjectKey,
        /// The schema's name.
        schema: SchemaName,
    }
}

query! {
    /// Whose reasoning schemas to read.
    SchemaQuery {
        /// Those of this project, and the built-in ones that it does not override. Only the
        /// built-in ones when absent.
        project_key: Option<ProjectKey>,
    }
}

/// A reasoning schema to set.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "source": "schema: hotfix\nextends: bugfix\nsteps:\n  - name: Roll back\n    \
               output: rollback_steps\n    type: list\n"
}))]
pub struct SetSchema {
    /// The YAML file, as `sgr/schema.json` of the repository describes it. Its `schema` is the name
    /// in the path.
    pub source: SchemaFile,
}

impl Request for SetSchema {}

/// Where a reasoning schema comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SchemaOrigin {
    /// Part of the program.
    BuiltIn,
    /// Set in the project.
    Project,
}

/// A reasoning schema in a list.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"schema": "bugfix", "origin": "built_in", "title": "Fix a bug"}))]
pub struct SchemaSummary {
    /// Its name.
    pub schema: String,
    /// Where it comes from. A project's overrides a built-in one of the same name.
    pub origin: SchemaOrigin,
    /// Title in one line.
    pub title: Option<String>,
    /// Purpose.
    pub description: Option<String>,
    /// Login of the user who set it; absent if it is built in, or the user was deleted.
    pub updated_by: Option<String>,
    /// When it was set.
    pub updated_at: Option<DateTime<Utc>>,
}

/// A reasoning schema with the steps of those that it extends. `schema`, `title`, `description` and
/// `steps` have the form of a file.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "schema": "hotfix", "origin": "project", "title": "Fix a bug",
    "steps": [{
        "name": "Understand", "output": "problem_summary", "type": "text", "required": true,
        "hints": ["State the observed behavior for {task}."]
    }],
    "answer_schema": {
        "type": "object", "required": ["problem_summary"],
        "properties": {"problem_summary": {"type": "string"}}
    },
    "updated_by": "vera", "updated_at": "2026-11-20T10:00:00Z",
    "source": "schema: hotfix\nextends: bugfix\nsteps: []\n"
}))]
pub struct ReasoningSchema {
    /// Where it comes from, and who set it.
    #[serde(flatten)]
    pub summary: SchemaSummary,
    /// The steps in their order.
    pub steps: Vec<ReasoningStep>,
    /// JSON Schema of an answer.
    #[schema(value_type = Object)]
    pub answer_schema: Value,
    /// The YAML file as it was set; absent if it is built in.
    pub source: Option<String>,
}

/// A step of reasoning, which fills one field of the answer.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ReasoningStep {
    /// Name in one line.
    pub name: String,
    /// Name of the field.
    pub output: String,
    /// Type of the field.
    #[serde(rename = "type")]
    pub field_type: FieldType,
    /// Whether the field must have content.
    #[serde(rename = "required")]
    pub is_required: bool,
    /// Purpose.
    pub description: Option<String>,
    /// Hints. `{task}`, `{path}` and `{symbols}` stand for values of the caller.
    pub hints: Vec<String>,
    /// What the step works on: `memory_bundle`, or outputs of earlier steps.
    #[serde(rename = "source", skip_serializing_if = "Vec::is_empty", default)]
    pub sources: Vec<String>,
}
