//! What may stand in a request's URL: it ends up in histories, bookmarks, and logs of proxies.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::Uri;
use url::form_urlencoded;

use crate::limits::TARGET_BYTES;
use crate::middleware::drain_unauthenticated;
use crate::problem::Problem;

/// Parameters that hold secrets, without the signs between their words.
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

/// Refuses long URLs and those with secrets in their query.
pub async fn check_target(request: Request, next: Next) -> Result<Response, Problem> {
    if let Err(refusal) = judge(request.uri()) {
        drain_unauthenticated(request.into_body()).await;
        return Err(refusal);
    }
    Ok(next.run(request).await)
}

fn judge(uri: &Uri) -> Result<(), Problem> {
    let length = uri.path_and_query().map_or(0, |target| target.as_str().len());
    if length > TARGET_BYTES {
        return Err(Problem::target_too_long(TARGET_BYTES));
    }
    match uri.query().and_then(secret_in) {
        None => Ok(()),
        Some(name) => Err(Problem::invalid("a secret must not stand in a URL, where logs keep it")
            .field(name)
            .hint("send the header `Authorization: Bearer <token>`, and replace the secret: it is known now")),
    }
}

fn secret_in(query: &str) -> Option<String> {
    let mut names = form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name);
    names.find(|name| is_secret(name)).map(std::borrow::Cow::into_owned)
}

fn is_secret(name: &str) -> bool {
    let letters = name.chars().filter(|sign| !matches!(sign, '_' | '-' | '.' | ' '));
    let bare: String = letters.flat_map(char::to_lowercase).collect();
    SECRETS.contains(&bare.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_name_however_it_is_written() {
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
    fn what_only_sounds_alike_passes() {
        for query in ["", "limit_tokens=500", "q=token", "author=vera", "cursor=token", "key=shop"]
        {
            assert_eq!(secret_in(query), None, "{query}");
        }
    }
}
