//! The sign-in pages: plain HTML without scripts, every text escaped.

use axum::response::{Html, IntoResponse, Response};
use http::{HeaderValue, header};
use mc_accounts::SignIn;
use mc_accounts::sign_in::browser::BrowserSession;
use mc_accounts::sign_in::device::PendingDeviceLogin;
use mc_auth::secret::UserCode;
use mc_domain::{Scope, Scopes};
use mc_sanitizer::visible_text::is_unprintable;

/// An HTML page, with all values escaped.
pub struct Page(String);

/// Content security policy of the pages. Forms are sent to this host only, no site may frame the
/// page, and the inline style is allowed by its hash.
const POLICY: &str = "default-src 'none'; \
     style-src 'sha256-STYLE'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

const STYLE: &str = concat!(
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:4rem auto;",
    "padding:0 1rem;color:#1b1f24;background:#fff}",
    "h1{font-size:1.4rem}",
    "code{font-size:1.2rem;letter-spacing:.1em}",
    "a.button,button{display:inline-block;font:inherit;padding:.5rem 1rem;",
    "margin:.25rem .5rem .25rem 0;border:1px solid #57606a;border-radius:.4rem;",
    "background:#f6f8fa;color:inherit;text-decoration:none;cursor:pointer}",
    "button.yes{background:#1f6f43;border-color:#1f6f43;color:#fff}",
    "input{font:inherit;padding:.4rem;text-transform:uppercase}",
    "input.secret{text-transform:none;width:100%}",
    "@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}",
    "a.button,button{background:#21262d}}",
);

/// The scopes that a person grants on purpose ([`Scopes::BY_NAME_ONLY`]), each with the field of
/// its box in the form and what it is for.
const BOXES: [(Scope, &str, &str); 2] = [
    (
        Scope::IngestLocal,
        "ingest_local",
        "to index directories of the service's machine, and what its network and its SSH key open",
    ),
    (Scope::Admin, "admin", "to change policies, members and keys"),
];

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        let mut response = Html(self.0).into_response();
        let policy = POLICY.replace("STYLE", &style_hash());
        if let Ok(policy) = HeaderValue::from_str(&policy) {
            response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
        }
        // With no referrer at all, browsers send forms with `Origin: null`, which ingress rejects.
        let referrers = HeaderValue::from_static("same-origin");
        response.headers_mut().insert(header::REFERRER_POLICY, referrers);
        response
    }
}

/// Renders the links to the identity providers. `user_code` is that of a device login to continue
/// with.
pub fn sign_in(sign_in: &SignIn, user_code: Option<&str>) -> Page {
    let code: String =
        url::form_urlencoded::byte_serialize(user_code.unwrap_or_default().as_bytes()).collect();
    let button = |name| {
        format!(
            "<p><a class=\"button\" href=\"/auth/oauth/{name}/start?user_code={code}\">\
             Sign in with {name}</a></p>"
        )
    };
    let buttons: String = sign_in.providers().map(button).collect();
    let invitation = format!(
        "<p><a class=\"button\" href=\"/auth/invitation?user_code={code}\">I have an \
         invitation</a></p>"
    );
    let other = if buttons.is_empty() {
        "<p>No identity provider is configured. If you are signed in at another terminal, approve \
         the login there: memory-copilot login --approve with the code that this terminal \
         shows. Without an invitation, ask an administrator for one.</p>"
    } else {
        ""
    };
    page("Sign in to Memory Copilot", &format!("{buttons}{invitation}{other}"))
}

/// Renders the form for the code of an invitation. `user_code` is that of a device login to
/// continue with.
pub fn ask_for_invitation(user_code: &str) -> Page {
    let body = format!(
        "<p>An administrator has sent you a code. It signs you in once.</p>\
         <form method=\"post\" action=\"/auth/invitation\">\
         <input type=\"hidden\" name=\"user_code\" value=\"{}\">\
         <p><label>Invitation <input class=\"secret\" type=\"password\" name=\"invitation_code\" \
         autocomplete=\"off\" autofocus required></label></p><button>Continue</button></form>",
        escaped(user_code)
    );
    page("Accept an invitation", &body)
}

/// Renders the form for a user code.
pub fn ask_for_code(session: &BrowserSession) -> Page {
    let body = format!(
        "<form method=\"get\" action=\"/auth/device\"><p><label>Code <input name=\"user_code\" \
         autocomplete=\"off\" autofocus required></label></p><button>Continue</button></form>{}",
        sign_out(session)
    );
    page("Sign in at a terminal", &body)
}

/// Renders the question whether to approve a device login, with the scopes that the person has.
/// Each of [`Scopes::BY_NAME_ONLY`] has a
/// box of its own, so that a person grants it on purpose.
pub fn consent_page(session: &BrowserSession, code: &UserCode, login: &PendingDeviceLogin) -> Page {
    let grantable = login.scopes.intersection(session.scopes);
    let scopes = grantable.without(Scopes::BY_NAME_ONLY);
    let scopes: Vec<_> = scopes.iter().map(Scope::as_str).collect();
    let scopes = if scopes.is_empty() { "no scope".to_owned() } else { scopes.join(", ") };
    let requested = BOXES.iter().filter(|(scope, ..)| grantable.contains(*scope));
    let boxes: String =
        requested.map(|(scope, field, purpose)| tick_box(*scope, field, purpose)).collect();
    let body = format!(
        "<p>The program <strong>{client}</strong> asks to sign in as you, with: {scopes}.</p>\
         <p>Approve only if your own terminal shows this code, and you have just started the \
         login:</p>\
         <p><code>{code}</code></p>\
         <form method=\"post\" action=\"/auth/device/page\">\
         <input type=\"hidden\" name=\"user_code\" value=\"{code}\">\
         <input type=\"hidden\" name=\"proof\" value=\"{proof}\">{boxes}\
         <button class=\"yes\" name=\"decision\" value=\"approve\">Approve</button>\
         <button name=\"decision\" value=\"deny\">Deny</button></form>{leave}",
        client = escaped(&login.client),
        scopes = escaped(&scopes),
        proof = escaped(&session.csrf_token),
        leave = sign_out(session),
    );
    page("Sign in at a terminal", &body)
}

/// Renders the box with which a person grants a scope.
fn tick_box(scope: Scope, field: &str, purpose: &str) -> String {
    format!(
        "<p><label><input type=\"checkbox\" name=\"{field}\" value=\"yes\"> It also asks for \
         {scope}: {purpose}. Tick this only if it needs that.</label></p>",
        purpose = escaped(purpose)
    )
}

/// Renders the outcome of a decision, with a way to sign out of a shared browser.
pub fn decided(session: &BrowserSession, title: &str, text: &str) -> Page {
    page(title, &format!("<p>{}</p>{}", escaped(text), sign_out(session)))
}

/// Renders the page for an identity without an account.
pub fn no_account(provider: &str, email: Option<&str>) -> Page {
    let email = email.unwrap_or("of your account there");
    let text = format!(
        "{provider} has confirmed your identity, but no account here is linked to it. Ask a \
         service administrator to create a user with the email address {email}."
    );
    message("You have no account here", &text)
}

/// Renders a heading and a text.
pub fn message(title: &str, text: &str) -> Page {
    page(title, &format!("<p>{}</p>", escaped(text)))
}

/// Renders the form that ends the browser session.
fn sign_out(session: &BrowserSession) -> String {
    format!(
        "<form method=\"post\" action=\"/auth/sign-out\">\
         <input type=\"hidden\" name=\"proof\" value=\"{}\">\
         <button>Sign out of this browser</button></form>",
        escaped(&session.csrf_token)
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

/// Escapes markup, and replaces invisible characters and those that change the order of text.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut before = None;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let is_hidden = is_unprintable(before, c, characters.peek().copied());
        before = (!is_hidden).then_some(c);
        match c {
            _ if is_hidden => safe.push(char::REPLACEMENT_CHARACTER),
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
    fn each_scope_that_is_granted_by_name_only_has_a_box() {
        let scopes: Scopes = BOXES.iter().map(|(scope, ..)| *scope).collect();
        assert_eq!(scopes, Scopes::BY_NAME_ONLY);
    }

    #[test]
    fn texts_are_escaped() {
        let page = message("<b>", "\"><script>alert('1')</script>&").0;
        assert!(!page.contains("<script") && !page.contains("<b>"), "{page}");
        assert!(page.contains("&lt;script&gt;alert(&#39;1&#39;)"), "{page}");
        assert_eq!(escaped("a\u{202e}b\u{200b}c 👩\u{200d}💻"), "a\u{fffd}b\u{fffd}c 👩\u{200d}💻");
    }
}
