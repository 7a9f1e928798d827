//! Checks of a request's URL, which ends up in histories, bookmarks and logs of proxies.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::Uri;
use url::form_urlencoded;

use crate::limits::MAX_TARGET_BYTES;
use crate::middleware::drain_unauthenticated;
use crate::problem::Problem;

/// Names of parameters with secrets, without separators.
const SECRETS: [&str; 15] = [
    "accesstoken",
    "apikey",
    "apitoken",
    "auth",
    "authorization",
    "authtoken",
    "bearer",
    "clientsecret",
    "idtoken",
    "jwt",
    "password",
    "privatetoken",
    "refreshtoken",
    "secret",
    "token",
];

/// Rejects URLs that are too long or have secrets in their query.
pub async fn check_target(request: Request, next: Next) -> Result<Response, Problem> {
    if let Err(problem) = check(request.uri()) {
        drain_unauthenticated(request.into_body()).await;
        return Err(problem);
    }
    Ok(next.run(request).await)
}

fn check(uri: &Uri) -> Result<(), Problem> {
    let length = uri.path_and_query().map_or(0, |target| target.as_str().len());
    if length > MAX_TARGET_BYTES {
        return Err(Problem::target_too_long(MAX_TARGET_BYTES));
    }
    match uri.query().and_then(secret_in) {
        None => Ok(()),
        Some(name) => {
            Err(Problem::invalid("must not be in a URL: logs store the secret").field(name).hint(
                "send the header `Authorization: Bearer <token>`, and replace the secret, which is \
                 no longer one",
            ))
        }
    }
}

fn secret_in(query: &str) -> Option<String> {
    let mut names = form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name);
    names.find(|name| is_secret(name)).map(std::borrow::Cow::into_owned)
}

fn is_secret(name: &str) -> bool {
    let letters = name.chars().filter(|c| !matches!(c, '_' | '-' | '.' | ' '));
    let bare: String = letters.flat_map(char::to_lowercase).collect();
    SECRETS.contains(&bare.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_parameters_are_detected_in_every_spelling() {
        for query in [
            "token=x",
            "limit=1&access_token=x",
            "API-Key=x",
            "%74oken=x",
            "apiKey",
            "client.secret=",
            "q=a&Authorization=Bearer+x",
        ] {
            assert!(secret_in(query).is_some(), "{query}");
        }
    }

    #[test]
    fn similar_parameter_names_are_accepted() {
        for query in ["", "limit_tokens=500", "q=token", "author=vera", "cursor=token", "key=shop"]
        {
            assert_eq!(secret_in(query), None, "{query}");
        }
    }
}
