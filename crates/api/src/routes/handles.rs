//! `/handles`: the items behind the short names in a bundle.

use axum::Json;
use axum::extract::State;
use mc_domain::{BundleId, Handle, InvalidHandle, Permission, ProjectKey};
use mc_memory::NamedBundle;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::ValidQuery;
use crate::limits;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};

/// The largest number of a handle, far above the items of a bundle.
const MAX_NUMBER: u16 = 999;

/// Query of handles.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HandleQuery {
    /// The project's key.
    #[param(value_type = schemas::ProjectKey, inline)]
    project_key: String,
    /// A bundle of the caller. By default the caller's newest in the project that has items.
    bundle_id: Option<Uuid>,
    /// Handles, separated by commas, such as `m1,d2`; all of the bundle by default.
    #[param(value_type = Option<schemas::HandleList>, inline)]
    handles: Option<String>,
}

/// A validated [`HandleQuery`].
#[derive(Debug)]
pub struct ValidatedHandles {
    project: ProjectKey,
    bundle: Option<BundleId>,
    handles: Option<Vec<Handle>>,
}

impl Validate for HandleQuery {
    type Checked = ValidatedHandles;

    fn check(self) -> Result<ValidatedHandles, ValidationError> {
        Ok(ValidatedHandles {
            project: validate::project_key("project_key", &self.project_key)?,
            bundle: self.bundle_id.map(BundleId),
            handles: validate::optional("handles", self.handles, |field, text| list(field, &text))?,
        })
    }
}

/// Parses a list of handles, each spelled as in a bundle.
fn list(field: &str, text: &str) -> Result<Vec<Handle>, ValidationError> {
    let length = text.chars().count();
    if length > limits::HANDLES {
        let limit = limits::HANDLES;
        return Err(ValidationError::new(
            field,
            format!("has {length} characters; the limit is {limit}"),
        ));
    }
    let as_written = |word: &str| {
        let handle = word.parse::<Handle>().ok();
        let handle =
            handle.filter(|handle| handle.number <= MAX_NUMBER && handle.to_string() == word);
        handle.ok_or_else(|| ValidationError::new(field, InvalidHandle))
    };
    text.split(',').map(as_written).collect()
}

/// The items of a bundle by their handles.
#[derive(Debug, Serialize, ToSchema)]
pub struct HandlesResponse {
    bundle_id: Uuid,
    items: Vec<NamedItem>,
    /// Requested handles that the bundle does not have.
    unknown: Vec<String>,
    /// All handles of the bundle, in its order.
    known: Vec<String>,
}

/// An item of a bundle. If all ids are absent, it was deleted.
#[derive(Debug, Serialize, ToSchema)]
pub struct NamedItem {
    handle: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    record_id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    doc_id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dialog_id: Option<Uuid>,
    /// The passage by which it was found; it may have changed or been deleted since.
    #[serde(skip_serializing_if = "Option::is_none")]
    passage_id: Option<Uuid>,
}

/// Look up the items of a bundle by their handles.
#[utoipa::path(
    get, path = "/handles", tag = "memory", params(HandleQuery),
    responses((status = 200, description = "The items", body = HandlesResponse))
)]
pub async fn get(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery(query): ValidQuery<HandleQuery>,
) -> Result<Json<HandlesResponse>, Problem> {
    let ctx = api.authorize(&caller, &query.project, Permission::Read).await?;
    let bundle = mc_memory::named_bundle(&ctx.memory, ctx.project.id, query.bundle).await?;
    Ok(Json(response(bundle, query.handles.as_deref())))
}

fn response(bundle: NamedBundle, requested: Option<&[Handle]>) -> HandlesResponse {
    let known: Vec<Handle> = bundle.items.iter().map(|item| item.handle).collect();
    let unknown = requested.into_iter().flatten().filter(|handle| !known.contains(handle));
    let unknown = unknown.map(ToString::to_string).collect();
    let is_requested = |item: &mc_store::bundles::NamedItem| {
        requested.is_none_or(|requested| requested.contains(&item.handle))
    };
    HandlesResponse {
        bundle_id: bundle.id.into(),
        items: bundle.items.into_iter().filter(is_requested).map(Into::into).collect(),
        unknown,
        known: known.iter().map(ToString::to_string).collect(),
    }
}

impl From<mc_store::bundles::NamedItem> for NamedItem {
    fn from(item: mc_store::bundles::NamedItem) -> Self {
        Self {
            handle: item.handle.to_string(),
            record_id: item.record.map(Into::into),
            doc_id: item.doc.map(Into::into),
            dialog_id: item.dialog.map(Into::into),
            passage_id: item.passage.map(Into::into),
        }
    }
}
