//! The role and scope that an operation needs, as its handler declares them in `x-access`.

use mc_domain::{Permission, Scope};
use serde::{Deserialize, Serialize};
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::SecurityRequirement;

/// The extension of an operation that holds its [`Access`].
const ACCESS: &str = "x-access";

/// What a caller of an operation needs besides a valid credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// A permission in the project that the request names.
    Permission(Permission),
    /// A scope of the credential.
    Scope(Scope),
    /// A login session; no personal access token.
    Interactive,
    /// The administration of the service, with the scope `admin`.
    ServiceAdmin,
    /// Both: for what creates a credential of another user.
    InteractiveServiceAdmin,
    /// Nothing else.
    Credential,
}

impl Access {
    /// Returns the scope and the role, as OpenAPI lists them for a bearer token.
    fn requirements(self) -> Vec<String> {
        match self {
            Self::Permission(permission) => vec![
                permission.scope().as_str().to_owned(),
                format!("role:{}", permission.min_role()),
            ],
            Self::Scope(scope) => vec![scope.as_str().to_owned()],
            Self::ServiceAdmin | Self::InteractiveServiceAdmin => {
                vec![Scope::Admin.as_str().to_owned(), "role:service_admin".to_owned()]
            }
            Self::Interactive | Self::Credential => Vec::new(),
        }
    }

    fn sentence(self) -> String {
        match self {
            Self::Permission(permission) => format!(
                "Requires the role `{}` in the project, unless its policy sets a higher one, and \
                 the scope `{}`.",
                permission.min_role(),
                permission.scope()
            ),
            Self::Scope(scope) => format!("Requires the scope `{scope}`."),
            Self::Interactive => {
                "Requires a login session; a personal access token is rejected.".to_owned()
            }
            Self::ServiceAdmin => {
                "Requires an administrator of the service and the scope `admin`.".to_owned()
            }
            Self::InteractiveServiceAdmin => "Requires a login session of an administrator of the \
                service, and the scope `admin`; a personal access token is rejected."
                .to_owned(),
            Self::Credential => "Requires a valid credential.".to_owned(),
        }
    }
}

/// Adds the declared access of an operation to its security requirements and its description.
pub(super) fn add_access(operation: &mut Operation) {
    let declared = operation.extensions.as_ref().and_then(|extensions| extensions.get(ACCESS));
    let Some(declared) = declared else { return };
    let access = Access::deserialize(declared).expect("handlers declare an `Access`");
    operation.security = Some(vec![SecurityRequirement::new("bearer", access.requirements())]);
    let description = operation.description.get_or_insert_default();
    if !description.is_empty() {
        description.push_str("\n\n");
    }
    description.push_str(&access.sentence());
}
