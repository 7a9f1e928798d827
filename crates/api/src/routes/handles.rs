//! `/handles`: what the short names in a bundle stand for.

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

/// The largest number of a handle; no bundle has nearly as many items.
const MOST: u16 = 999;

/// Which handles, and of which bundle.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HandleQuery {
    /// The project's key.
    #[param(value_type = schemas::ProjectKey, inline)]
    project_key: String,
    /// The bundle, one of the caller's own; their newest in the project that holds anything when absent.
    bundle_id: Option<Uuid>,
    /// Handles with commas between, such as `m1,d2`; all of the bundle when absent.
    #[param(value_type = Option<schemas::HandleList>, inline)]
    handles: Option<String>,
}

/// A [`HandleQuery`] as checked.
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

/// Handles with commas between, each as it is written in a bundle.
fn list(field: &str, text: &str) -> Result<Vec<Handle>, ValidationError> {
    let length = text.chars().count();
    if length > limits::HANDLES {
        let limit = limits::HANDLES;
        return Err(ValidationError::new(
            field,
            format!("holds {length} characters; the limit is {limit}"),
        ));
    }
    let as_written = |word: &str| {
        let handle = word.parse::<Handle>().ok();
        let handle = handle.filter(|handle| handle.number <= MOST && handle.to_string() == word);
        handle.ok_or_else(|| ValidationError::new(field, InvalidHandle))
    };
    text.split(',').map(as_written).collect()
}

/// What handles stand for.
#[derive(Debug, Serialize, ToSchema)]
pub struct HandlesResponse {
    bundle_id: Uuid,
    items: Vec<NamedItem>,
    /// Handles that the bundle has not.
    unknown: Vec<String>,
    /// Those that it has, in the order shown.
    known: Vec<String>,
}

/// What a handle stands for. One whose ids are all absent is gone.
#[derive(Debug, Serialize, ToSchema)]
pub struct NamedItem {
    handle: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    record_id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    doc_id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dialog_id: Option<Uuid>,
    /// The passage that it was found through, which may have changed or gone since.
    #[serde(skip_serializing_if = "Option::is_none")]
    passage_id: Option<Uuid>,
}

/// Look up what handles of a bundle stand for.
#[utoipa::path(
    get, path = "/handles", tag = "memory", params(HandleQuery),
    responses((status = 200, description = "What they stand for", body = HandlesResponse))
)]
pub async fn get(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery(query): ValidQuery<HandleQuery>,
) -> Result<Json<HandlesResponse>, Problem> {
    let here = api.authorize(&caller, &query.project, Permission::Read).await?;
    let bundle = mc_memory::named_bundle(&here.memory, here.project.id, query.bundle).await?;
    Ok(Json(answer(bundle, query.handles.as_deref())))
}

fn answer(bundle: NamedBundle, asked: Option<&[Handle]>) -> HandlesResponse {
    let known: Vec<Handle> = bundle.items.iter().map(|item| item.handle).collect();
    let unknown = asked.into_iter().flatten().filter(|handle| !known.contains(handle));
    let unknown = unknown.map(ToString::to_string).collect();
    let is_asked = |item: &mc_store::bundles::NamedItem| {
        asked.is_none_or(|asked| asked.contains(&item.handle))
    };
    HandlesResponse {
        bundle_id: bundle.id.into(),
        items: bundle.items.into_iter().filter(is_asked).map(Into::into).collect(),
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
