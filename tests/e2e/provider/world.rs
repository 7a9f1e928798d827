//! A service, the providers that it lets people sign in at, and words to call it with.

use mc_testkit::TestDatabase;
use reqwest::{Client, Method, header};
use serde_json::{Value, json};
use url::Url;

use super::browser::{Browser, link};
use super::server::{Server, secret};
use crate::harness::Service;

/// The variable in which the service looks for the client's secret.
const SECRET_VARIABLE: &str = "PROVIDER_SECRET";

/// A service and the provider `corp`; perhaps another one, `other`.
pub struct World {
    pub service: Service,
    pub corp: Server,
    pub other: Option<Server>,
    pub database: TestDatabase,
    client: Client,
}

/// What the service answered.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
    pub cookies: Vec<String>,
}

impl World {
    /// With one provider.
    pub async fn new() -> Self {
        let service = Service::prepared();
        let corp = provider(&service, "corp").await;
        Self::of(service, corp, None).await
    }

    /// With both.
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

    /// An address of the service.
    pub fn address(&self, path: &str) -> Url {
        Url::parse(&self.service.url).unwrap().join(path).unwrap()
    }

    /// A user whom the administrator expects at `<subject>@example.com`.
    pub async fn invite(&self, login: &str, subject: &str) {
        let user = json!({ "login": login, "email": format!("{subject}@example.com") });
        self.service.post("/users", &user).await;
    }

    /// Gives a role on a project.
    pub async fn give(&self, login: &str, project: &str, role: &str) {
        let path = format!("/projects/{project}/members/{login}");
        let role = json!({ "role": role });
        let given = self.call(Method::PUT, &path, &self.service.token(), role).await;
        assert_eq!(given.status, 204, "{given:?}");
    }

    /// A request with a bearer token.
    pub async fn call(&self, method: Method, path: &str, token: &str, body: Value) -> Answer {
        let request = self.client.request(method, self.address(path)).bearer_auth(token);
        let request = if body.is_null() { request } else { request.json(&body) };
        Answer::of(request).await
    }

    /// Who the service takes the bearer of `token` for; nobody where it is refused.
    pub async fn whoami(&self, token: &str) -> Option<Value> {
        let answer = self.call(Method::GET, "/whoami", token, Value::Null).await;
        assert!(matches!(answer.status, 200 | 401), "{answer:?}");
        (answer.status == 200).then_some(answer.body)
    }

    /// A form without a token, as OAuth has it.
    pub async fn form(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        Answer::of(self.client.post(self.address(path)).form(fields)).await
    }

    /// What comes back at `address` to a browser that has these cookies and no others.
    pub async fn get(&self, address: &Url, cookies: &str) -> Answer {
        Answer::of(self.client.get(address.clone()).header(header::COOKIE, cookies)).await
    }

    /// Signs in at `provider` as `subject`, up to where the provider sends the browser back to.
    pub async fn up_to_callback(&self, browser: &Browser, provider: &str, subject: &str) -> Url {
        let start = self.address(&format!("/auth/oauth/{provider}/start"));
        browser.sign_in(&start, subject).await
    }

    /// Goes through the page of the device flow with a browser of `subject`: signs in at `corp` where it
    /// has to, and presses the button. Answers the last page.
    pub async fn decide(&self, page: &Url, subject: &str, decision: &str) -> String {
        let browser = Browser::new();
        let mut place = browser.visit(page).await;
        if let Some(start) = link(&place, "/auth/oauth/corp/start") {
            let back = browser.sign_in(&start, subject).await;
            place = browser.visit(&back).await;
        }
        browser.press(&place, "decision", decision).await
    }

    /// The tokens of a program that `subject` let in with these scopes.
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

/// A provider as the service's configuration has it.
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

    /// The body of a success.
    pub fn ok(self) -> Value {
        assert!(self.status < 300, "{self:?}");
        self.body
    }

    /// Whether somebody is signed in with the browser by it.
    pub fn signs_in(&self) -> bool {
        self.cookies.iter().any(|cookie| {
            cookie.strip_prefix("mc_visit=").is_some_and(|rest| !rest.starts_with(';'))
        })
    }
}
