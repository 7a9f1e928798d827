//! `/handles`: the items of a bundle by their short names.

use axum::Json;
use axum::extract::State;
use mc_contract::operations::passage::{HandleList, HandleQuery, HandlesResponse, NamedItem};
use mc_domain::{Handle, Permission};
use mc_memory::NamedBundle;
use mc_store::bundles;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::QueryString;
use crate::openapi::Access;
use crate::problem::Problem;

/// Get the items that handles of a bundle stand for.
///
/// Returns the ids behind the short names (`m1`, `d2`) that `POST /recall` gave to the items of one
/// of the caller's bundles.
#[utoipa::path(
    get, path = "/handles", tag = "memory", params(HandleQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "The items of the handles", body = HandlesResponse))
)]
pub async fn resolve_handles(
    State(api): State<ApiState>,
    caller: Principal,
    QueryString(query): QueryString<HandleQuery>,
) -> Result<Json<HandlesResponse>, Problem> {
    let here = api.authorize(&caller, &query.project_key, Permission::Read).await?;
    let bundle = mc_memory::named_bundle(&here.memory, here.project.id, query.bundle_id).await?;
    Ok(Json(response(&bundle, query.handles.as_ref())))
}

fn response(bundle: &NamedBundle, requested: Option<&HandleList>) -> HandlesResponse {
    let requested = requested.map(HandleList::as_slice);
    let known: Vec<Handle> = bundle.items.iter().map(|item| item.handle).collect();
    let unknown = requested.into_iter().flatten().filter(|handle| !known.contains(handle));
    let unknown = unknown.map(ToString::to_string).collect();
    let is_requested = |item: &bundles::NamedItem| {
        requested.is_none_or(|requested| requested.contains(&item.handle))
    };
    HandlesResponse {
        bundle_id: bundle.id,
        items: bundle.items.iter().filter(|item| is_requested(item)).map(named_item).collect(),
        unknown,
        known: known.iter().map(ToString::to_string).collect(),
    }
}

fn named_item(item: &bundles::NamedItem) -> NamedItem {
    NamedItem {
        handle: item.handle.to_string(),
        record_id: item.record,
        doc_id: item.doc,
        dialog_id: item.dialog,
        passage_id: item.passage,
    }
}
