//! `/passages`: the units of search.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use mc_domain::{PassageId, Permission, ProjectKey};
use mc_store::passages;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{ValidPath, ValidQuery};
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};
use crate::wire::{Source, Trust};

/// Path parameter: a passage.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct PassagePath {
    /// The passage's id, from a search.
    id: Uuid,
}

impl Validate for PassagePath {
    type Checked = PassageId;

    fn check(self) -> Result<PassageId, ValidationError> {
        Ok(PassageId(self.id))
    }
}

/// Query of a passage.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PassageQuery {
    /// The project's key.
    #[param(value_type = schemas::ProjectKey, inline)]
    project_key: String,
}

impl Validate for PassageQuery {
    type Checked = ProjectKey;

    fn check(self) -> Result<ProjectKey, ValidationError> {
        validate::project_key("project_key", &self.project_key)
    }
}

/// A passage.
#[derive(Debug, Serialize, ToSchema)]
pub struct Passage {
    id: Uuid,
    source: Source,
    title: String,
    /// File path or URL.
    location: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line_start: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line_end: Option<i32>,
    /// The symbols that it defines.
    symbols: Vec<String>,
    text: String,
    /// How far its text may be relied on.
    trust: Trust,
    #[serde(skip_serializing_if = "Option::is_none")]
    record_id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    doc_id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dialog_id: Option<Uuid>,
    updated_at: DateTime<Utc>,
}

/// Get a passage with its whole text.
#[utoipa::path(
    get, path = "/passages/{id}", tag = "memory", params(PassagePath, PassageQuery),
    responses((status = 200, description = "The passage", body = Passage))
)]
pub async fn get(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<PassagePath>,
    ValidQuery(key): ValidQuery<PassageQuery>,
) -> Result<Json<Passage>, Problem> {
    let ctx = api.authorize(&caller, &key, Permission::Read).await?;
    let found = passages::load(&ctx.store, ctx.project.id, &[id]).await?.pop();
    let unknown = || {
        Problem::not_found(format!(
            "the project has no passage {id}; it has changed or was deleted"
        ))
        .field("id")
        .hint("POST /search finds the current passages")
    };
    Ok(Json(found.ok_or_else(unknown)?.into()))
}

impl From<passages::Passage> for Passage {
    fn from(passage: passages::Passage) -> Self {
        let trust = mc_memory::bundle::trust(&passage).into();
        let passages::Passage { indexed, updated_at, record, code, doc, dialog, commit: _ } =
            passage;
        let of_code = code.map(|code| (code.line_start, code.line_end));
        let lines = of_code.or(doc.as_ref().and_then(|doc| doc.lines));
        Self {
            id: indexed.id.into(),
            source: indexed.source.into(),
            title: indexed.title,
            location: indexed.location,
            line_start: lines.map(|(start, _)| start),
            line_end: lines.map(|(_, end)| end),
            symbols: indexed.symbols,
            text: indexed.text,
            trust,
            record_id: record.map(|record| record.id.into()),
            doc_id: doc.map(|doc| doc.id.into()),
            dialog_id: dialog.map(Into::into),
            updated_at,
        }
    }
}
