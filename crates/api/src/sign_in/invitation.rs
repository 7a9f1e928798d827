//! The page on which an invited person types the code of the invitation.

use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use mc_accounts::sign_in::browser;
use serde::Deserialize;
use utoipa::ToSchema;

use super::browser::{code_characters, signed_in};
use super::device::parameter;
use super::pages;
use crate::ApiState;
use crate::extract::Form;
use crate::ingress::AuthFailed;
use crate::problem::Problem;

/// Show the page for the code of an invitation.
///
/// Returns an HTML page with a form for the code that an administrator has sent.
#[utoipa::path(
    get, path = "/auth/invitation", tag = "accounts", security(()),
    params(
        ("user_code" = Option<String>, Query, description = "The code of a login in a terminal"),
    ),
    responses((status = 200, description = "A page", content_type = "text/html"))
)]
pub async fn show_invitation_page(RawQuery(query): RawQuery) -> Response {
    let code = parameter(query.as_deref().unwrap_or_default(), "user_code").unwrap_or_default();
    pages::ask_for_invitation(&code_characters(&code)).into_response()
}

/// The form of the page for an invitation.
#[derive(Deserialize, ToSchema)]
pub struct InvitationForm {
    /// The code that an administrator has sent.
    invitation_code: String,
    /// The code of a login in a terminal to continue with; may be empty.
    #[serde(default)]
    user_code: String,
}

/// Sign in with the code of an invitation.
///
/// Uses the code up, starts a browser session, sets its cookie and redirects to `/auth/device`. All
/// other sessions of the person end. A code that is not valid gets a page that says so.
#[utoipa::path(
    post, path = "/auth/invitation", tag = "accounts", security(()),
    request_body(content = InvitationForm, content_type = "application/x-www-form-urlencoded"),
    responses(
        (status = 200, description = "A page", content_type = "text/html"),
        (status = 303, description = "Signed in"),
    )
)]
pub async fn accept_invitation(
    State(api): State<ApiState>,
    Form(form): Form<InvitationForm>,
) -> Result<Response, Problem> {
    let sign_in = &api.sign_in;
    let Some(secret) = browser::accept_invitation(sign_in, &form.invitation_code).await? else {
        let mut response = pages::message(
            "The invitation is not valid",
            "Its code was used, has expired, or was replaced by a newer one. Ask an administrator \
             for another.",
        )
        .into_response();
        response.extensions_mut().insert(AuthFailed);
        return Ok(response);
    };
    Ok(signed_in(sign_in, &secret, &form.user_code))
}
