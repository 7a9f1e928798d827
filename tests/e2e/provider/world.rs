//! A service with its login providers, and helpers to call it.

use mc_testkit::TestDatabase;
use reqwest::{Client, Method, header};
use serde_json::{Value, json};
use url::Url;

use super::browser::{Browser, link};
use super::server::{Server, secret};
use crate::harness::Service;

/// The environment variable of the client's secret.
const SECRET_VARIABLE: &str = "PROVIDER_SECRET";

/// A service, the provider `corp`, and perhaps another one, `other`.
pub struct World {
    pub service: Service,
    pub corp: Server,
    pub other: Option<Server>,
    pub database: TestDatabase,
    client: Client,
}

/// A response of the service.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
    pub cookies: Vec<String>,
}

impl World {
    /// Starts it with one provider.
    pub async fn new() -> Self {
        let service = Service::prepared();
        let corp = provider(&service, "corp").await;
        Self::of(service, corp, None).await
    }

    /// Starts it with both providers.
    pub async fn with_another() -> Self {
        let service = Service::prepared();
        let (corp, other) = tokio::join!(provider(&service, "corp"), provider(&service, "other"));
        Self::of(service, corp, Some(other)).await
    }

    async fn of(mut service: Service, corp: Server, other: Option<Server>) -> Self {
        let database = TestDatabase::create().await;
        let others = other.as_ref().map(|server| format!(",{}", setting("other", server)));
        let providers = format!("[{}{}]", setting("corp", &corp), others.unwrap_or_default());
        service.set("MEMORY_COPILOT__SIGN_IN__PROVIDERS", providers.into());
        service.set(SECRET_VARIABLE, secret().into());
        service.set("DATABASE_URL", database.url().into());
        service.launch().await;
        let client = Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        Self { service, corp, other, database, client: client.build().unwrap() }
    }

    /// Returns a URL of the service.
    pub fn address(&self, path: &str) -> Url {
        Url::parse(&self.service.url).unwrap().join(path).unwrap()
    }

    /// Invites a user with the address `<subject>@example.com`.
    pub async fn invite(&self, login: &str, subject: &str) {
        let user = json!({ "login": login, "email": format!("{subject}@example.com") });
        self.service.post("/users", &user).await;
    }

    /// Grants a role on a project.
    pub async fn give(&self, login: &str, project: &str, role: &str) {
        let path = format!("/projects/{project}/members/{login}");
        let role = json!({ "role": role });
        let given = self.call(Method::PUT, &path, &self.service.token(), role).await;
        assert_eq!(given.status, 204, "{given:?}");
    }

    /// Sends a request with a bearer token.
    pub async fn call(&self, method: Method, path: &str, token: &str, body: Value) -> Answer {
        let request = self.client.request(method, self.address(path)).bearer_auth(token);
        let request = if body.is_null() { request } else { request.json(&body) };
        Answer::of(request).await
    }

    /// Returns the user of `token`, or `None` if it is rejected.
    pub async fn whoami(&self, token: &str) -> Option<Value> {
        let answer = self.call(Method::GET, "/whoami", token, Value::Null).await;
        assert!(matches!(answer.status, 200 | 401), "{answer:?}");
        (answer.status == 200).then_some(answer.body)
    }

    /// Sends a form without a token, as OAuth clients do.
    pub async fn form(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        Answer::of(self.client.post(self.address(path)).form(fields)).await
    }

    /// Requests a URL with these cookies only.
    pub async fn get(&self, address: &Url, cookies: &str) -> Answer {
        Answer::of(self.client.get(address.clone()).header(header::COOKIE, cookies)).await
    }

    /// Signs in at `provider` as `subject` and returns the redirect URL, without following it.
    pub async fn up_to_callback(&self, browser: &Browser, provider: &str, subject: &str) -> Url {
        let start = self.address(&format!("/auth/oauth/{provider}/start"));
        browser.sign_in(&start, subject).await
    }

    /// Goes through the page of the device flow with a browser of `subject`: signs in at `corp` if
    /// necessary and presses the button. Returns the last page.
    pub async fn decide(&self, page: &Url, subject: &str, decision: &str) -> String {
        let browser = Browser::new();
        let mut place = browser.visit(page).await;
        if let Some(start) = link(&place, "/auth/oauth/corp/start") {
            let back = browser.sign_in(&start, subject).await;
            place = browser.visit(&back).await;
        }
        browser.press(&place, "decision", decision).await
    }

    /// Returns the tokens of a program to which `subject` granted these scopes.
    pub async fn signed_in(&self, subject: &str, scopes: &str) -> Value {
        let begun = self.form("/auth/device", &[("scope", scopes)]).await.ok();
        let page = begun["verification_uri_complete"].as_str().unwrap().parse().unwrap();
        let last = self.decide(&page, subject, "approve").await;
        assert!(last.contains("You are signed in at the terminal"), "{last}");
        self.redeem(&begun).await.ok()
    }

    /// Exchanges a device code.
    pub async fn redeem(&self, begun: &Value) -> Answer {
        let code = begun["device_code"].as_str().unwrap();
        let grant = "urn:ietf:params:oauth:grant-type:device_code";
        self.form("/auth/token", &[("grant_type", grant), ("device_code", code)]).await
    }
}

async fn provider(service: &Service, name: &str) -> Server {
    Server::oidc_for(&[format!("{}/auth/oauth/{name}/callback", service.url)]).await
}

/// Returns the configuration of a provider.
fn setting(name: &str, server: &Server) -> String {
    format!(
        "{{name={name},kind={{oidc={{issuer=\"{}\"}}}},client_id=web-EdDSA,\
         client_secret_env={SECRET_VARIABLE}}}",
        server.issuer()
    )
}

impl Answer {
    async fn of(request: reqwest::RequestBuilder) -> Self {
        let answer = request.send().await.expect("an answer");
        let cookies = answer.headers().get_all(header::SET_COOKIE).iter();
        let cookies = cookies.map(|value| value.to_str().unwrap().to_owned()).collect();
        let status = answer.status().as_u16();
        let text = answer.text().await.expect("a body");
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Self { status, body, cookies }
    }

    /// Returns the body of a successful response.
    pub fn ok(self) -> Value {
        assert!(self.status < 300, "{self:?}");
        self.body
    }

    /// Whether the response signs the browser in.
    pub fn signs_in(&self) -> bool {
        self.cookies.iter().any(|cookie| {
            cookie.strip_prefix("mc_visit=").is_some_and(|rest| !rest.starts_with(';'))
        })
    }
}
