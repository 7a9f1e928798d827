//! The project that a request is about.

use serde::Deserialize;
use utoipa::IntoParams;

use crate::{ProjectKey, Request};

/// The project of a request without a body.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ProjectQuery {
    /// The project's key.
    #[param(inline)]
    pub project_key: ProjectKey,
}

impl Request for ProjectQuery {}

/// A project, in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ProjectPath {
    /// The project's key.
    #[param(inline)]
    pub key: ProjectKey,
}

impl Request for ProjectPath {}
