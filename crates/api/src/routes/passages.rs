//! `/passages`: a passage of a document, dialog, record or of code, as search finds it.

use axum::Json;
use axum::extract::State;
use mc_contract::operations::passage::{Passage, PassagePath};
use mc_contract::operations::project::ProjectQuery;
use mc_domain::{Permission, ReadKind};
use mc_store::passages;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{PathParams, QueryString};
use crate::openapi::Access;
use crate::problem::Problem;

/// Get a passage.
///
/// Returns the whole text of a passage that a search found. A passage is replaced when its source
/// changes.
#[utoipa::path(
    get, path = "/passages/{id}", tag = "memory", params(PassagePath, ProjectQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "The passage", body = Passage))
)]
pub async fn get_passage(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(PassagePath { id }): PathParams<PassagePath>,
    QueryString(query): QueryString<ProjectQuery>,
) -> Result<Json<Passage>, Problem> {
    let here = api.authorize(&caller, &query.project_key, Permission::Read).await?;
    let found = passages::load(&here.store, here.project.id, &[id]).await?.pop();
    let unknown = || {
        Problem::not_found(format!("the project has no passage {id}: it changed, or is gone"))
            .field("id")
            .hint("POST /search finds the current passages")
    };
    let found = found.ok_or_else(unknown)?;
    here.count_read(ReadKind::Passage);
    Ok(Json(passage(found)))
}

/// The passage as it is sent.
fn passage(passage: passages::Passage) -> Passage {
    let trust = mc_memory::bundle::trust(&passage);
    let passages::Passage { indexed, updated_at, record, code, doc, dialog, commit: _ } = passage;
    let of_code = code.map(|code| (code.line_start, code.line_end));
    let lines = of_code.or(doc.as_ref().and_then(|doc| doc.lines));
    Passage {
        id: indexed.id,
        source: indexed.source,
        title: indexed.title,
        location: indexed.location,
        line_start: lines.map(|(start, _)| start),
        line_end: lines.map(|(_, end)| end),
        symbols: indexed.symbols,
        text: indexed.text,
        trust,
        record_id: record.map(|record| record.id),
        doc_id: doc.map(|doc| doc.id),
        dialog_id: dialog,
        updated_at,
    }
}
