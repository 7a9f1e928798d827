//! The few pages of signing in: plain HTML without a script, every text escaped.

use axum::response::{Html, IntoResponse, Response};
use http::{HeaderValue, header};
use mc_auth::secret::UserCode;
use mc_domain::Scope;
use mc_store::sessions::Device;

use super::SignIn;
use super::browser::BrowserSession;

/// A page.
pub struct Page(String);

/// Forms go nowhere but here, and nobody frames the page to have its buttons clicked. The style stands
/// in the page and is allowed by its hash.
const POLICY: &str = "default-src 'none'; \
     style-src 'sha256-STYLE'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

const STYLE: &str = "body{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:4rem auto;padding:0 1rem;color:#1b1f24;background:#fff}h1{font-size:1.4rem}code{font-size:1.2rem;letter-spacing:.1em}a.button,button{display:inline-block;font:inherit;padding:.5rem 1rem;margin:.25rem .5rem .25rem 0;border:1px solid #57606a;border-radius:.4rem;background:#f6f8fa;color:inherit;text-decoration:none;cursor:pointer}button.yes{background:#1f6f43;border-color:#1f6f43;color:#fff}input{font:inherit;padding:.4rem;text-transform:uppercase}@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}a.button,button{background:#21262d}}";

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        let mut response = Html(self.0).into_response();
        let policy = POLICY.replace("STYLE", &style_hash());
        if let Ok(policy) = HeaderValue::from_str(&policy) {
            response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
        }
        // With none at all browsers send forms with `Origin: null`, which the door refuses.
        let referrers = HeaderValue::from_static("same-origin");
        response.headers_mut().insert(header::REFERRER_POLICY, referrers);
        response
    }
}

/// Where to sign in; to go on with a login at a terminal afterwards.
pub fn sign_in(sign_in: &SignIn, user_code: Option<&str>) -> Page {
    let code: String =
        url::form_urlencoded::byte_serialize(user_code.unwrap_or_default().as_bytes()).collect();
    let buttons: String = sign_in
        .0
        .providers
        .keys()
        .map(|name| {
            format!("<p><a class=\"button\" href=\"/auth/oauth/{name}/start?user_code={code}\">Sign in with {name}</a></p>")
        })
        .collect();
    if buttons.is_empty() {
        return message(
            "No login provider is set up",
            "Someone who has a token can let you in at the terminal: memory-copilot login --approve \
             with the code that it shows.",
        );
    }
    page("Sign in to Memory Copilot", &buttons)
}

/// What code the terminal shows.
pub fn ask_for_code(visitor: &BrowserSession) -> Page {
    let body = format!(
        "<form method=\"get\" action=\"/auth/device\"><p><label>Code <input name=\"user_code\" \
         autocomplete=\"off\" autofocus required></label></p><button>Go on</button></form>{}",
        sign_out(visitor)
    );
    page("Sign in at a terminal", &body)
}

/// Whether to let somebody at a terminal come in.
pub fn consent_page(visitor: &BrowserSession, code: &UserCode, row: &Device) -> Page {
    let scopes: Vec<_> = row.requested_scopes.iter().map(Scope::as_str).collect();
    let body = format!(
        "<p>The program <strong>{client}</strong> wants to come in as you, for: {scopes}.</p>\
         <p>Agree only if your own terminal shows this code, and you have just started the login:</p>\
         <p><code>{code}</code></p>\
         <form method=\"post\" action=\"/auth/device/page\">\
         <input type=\"hidden\" name=\"user_code\" value=\"{code}\">\
         <input type=\"hidden\" name=\"proof\" value=\"{proof}\">\
         <button class=\"yes\" name=\"decision\" value=\"approve\">Let it in</button>\
         <button name=\"decision\" value=\"deny\">Refuse</button></form>{leave}",
        client = escaped(&row.client),
        scopes = escaped(&scopes.join(", ")),
        proof = escaped(visitor.csrf_token()),
        leave = sign_out(visitor),
    );
    page("Sign in at a terminal", &body)
}

/// What came of a decision. The browser may be one that others use, too.
pub fn decided(visitor: &BrowserSession, title: &str, text: &str) -> Page {
    page(title, &format!("<p>{}</p>{}", escaped(text), sign_out(visitor)))
}

/// A heading and a sentence.
pub fn message(title: &str, text: &str) -> Page {
    page(title, &format!("<p>{}</p>", escaped(text)))
}

/// A way to end the visit.
fn sign_out(visitor: &BrowserSession) -> String {
    format!(
        "<form method=\"post\" action=\"/auth/sign-out\">\
         <input type=\"hidden\" name=\"proof\" value=\"{}\">\
         <button>Sign out of this browser</button></form>",
        escaped(visitor.csrf_token())
    )
}

fn page(title: &str, body: &str) -> Page {
    let title = escaped(title);
    Page(format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}</style><h1>{title}</h1>{body}</html>"
    ))
}

fn style_hash() -> String {
    use base64::Engine as _;
    use sha2::Digest as _;
    base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(STYLE))
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_texts() {
        let page = message("<b>", "\"><script>alert('1')</script>&").0;
        assert!(!page.contains("<script") && !page.contains("<b>"), "{page}");
        assert!(page.contains("&lt;script&gt;alert(&#39;1&#39;)"), "{page}");
    }
}
