//! Login with GitHub: OAuth 2.0, then its REST API for the identity.

use std::borrow::Cow;

use oauth2::basic::BasicClient;
use oauth2::{
    AuthType, AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, EndpointNotSet,
    EndpointSet, PkceCodeChallenge, RedirectUrl, Scope, TokenResponse as _, TokenUrl,
};
use serde::Deserialize;
use url::Url;

use super::http::Http;
use super::{Callback, Error, ExternalIdentity, Pending, ProviderName, Request, error};
use crate::secret::LoginState;

const MEDIA_TYPE: &str = "application/vnd.github+json";
/// The scopes to read the profile and the verified e-mail addresses.
const SCOPES: [&str; 2] = ["read:user", "user:email"];

type Client = BasicClient<EndpointSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointSet>;

#[derive(Debug)]
pub(super) struct Github {
    name: ProviderName,
    web: Url,
    client: Client,
    web_http: Http,
    api_http: Http,
    /// The issuer in GitHub's responses, if they have one (RFC 9207).
    issuer: Url,
    user: Url,
    emails: Url,
}

#[derive(Deserialize)]
struct User {
    id: u64,
    login: String,
}

#[derive(Deserialize)]
struct Email {
    #[serde(rename = "email")]
    address: String,
    primary: bool,
    verified: bool,
}

impl Github {
    pub(super) fn new(
        name: &ProviderName,
        web: &Url,
        api: &Url,
        (client_id, client_secret): (ClientId, Option<ClientSecret>),
    ) -> Result<Self, Error> {
        let authorize = AuthUrl::from_url(below(web, "login/oauth/authorize"));
        let token = TokenUrl::from_url(below(web, "login/oauth/access_token"));
        let client = BasicClient::new(client_id)
            .set_auth_uri(authorize)
            .set_token_uri(token)
            .set_auth_type(AuthType::RequestBody);
        let client = match client_secret {
            Some(secret) => client.set_client_secret(secret),
            None => client,
        };
        Ok(Self {
            name: name.clone(),
            web: web.clone(),
            client,
            web_http: Http::new(web, None).map_err(|error| error.of(name))?,
            api_http: Http::new(api, None).map_err(|error| error.of(name))?,
            issuer: below(web, "login/oauth"),
            user: below(api, "user"),
            emails: below(api, "user/emails"),
        })
    }

    pub(super) fn authorize(&self, state: &LoginState, redirect_uri: &Url) -> Request {
        let (challenge, pkce_verifier) = PkceCodeChallenge::new_random_sha256();
        let (url, _) = self
            .client
            .authorize_url(|| CsrfToken::new(state.expose().to_owned()))
            .add_scopes(SCOPES.map(|scope| Scope::new(scope.to_owned())))
            .set_pkce_challenge(challenge)
            .set_redirect_uri(Cow::Owned(RedirectUrl::from_url(redirect_uri.clone())))
            .url();
        Request { url, pkce_verifier, nonce: None }
    }

    /// Checks the issuer, which GitHub does not promise, though it sent one in April 2026.
    fn check_issuer(&self, callback: &Callback) -> Result<(), Error> {
        match &callback.issuer {
            Some(issuer) if issuer != self.issuer.as_str() => Err(Error::MixUp(self.name.clone())),
            _ => Ok(()),
        }
    }

    pub(super) async fn identify(
        &self,
        callback: &Callback,
        pending: Pending,
    ) -> Result<ExternalIdentity, Error> {
        self.check_issuer(callback)?;
        let tokens = self
            .client
            .exchange_code(AuthorizationCode::new(callback.code.clone()))
            .set_pkce_verifier(pending.pkce_verifier)
            .set_redirect_uri(Cow::Owned(RedirectUrl::from_url(pending.redirect_uri)))
            .request_async(&self.web_http)
            .await
            .map_err(|error| error::token_error(&self.name, error))?;
        let token = tokens.access_token().secret();
        let user = self.api_http.get_json::<User>(self.user.clone(), token, MEDIA_TYPE);
        let emails = self.api_http.get_json(self.emails.clone(), token, MEDIA_TYPE);
        let (user, emails) =
            tokio::try_join!(user, emails).map_err(|error| error.of(&self.name))?;
        let identity = ExternalIdentity::new(&self.name, user.id.to_string(), primary(emails))?;
        Ok(identity.with_account(&self.web, user.login))
    }
}

/// Returns the primary address, if it is verified. Another verified one is not the person's choice.
fn primary(emails: Vec<Email>) -> Option<String> {
    emails.into_iter().find(|one| one.primary && one.verified).map(|one| one.address)
}

/// Appends `path` to a root that may have a path, as the API of GitHub Enterprise has.
fn below(root: &Url, path: &str) -> Url {
    let mut url = root.clone();
    let root = root.path().trim_end_matches('/');
    url.set_path(&format!("{root}/{path}"));
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    fn github(web: &str, api: &str) -> Github {
        let [web, api] = [web, api].map(|url| url.parse().expect("a URL"));
        let credentials = (ClientId::new("id".to_owned()), None);
        Github::new(&ProviderName::parse("github").expect("a name"), &web, &api, credentials)
            .expect("usable")
    }

    fn email(address: &str, primary: bool, verified: bool) -> Email {
        Email { address: address.to_owned(), primary, verified }
    }

    #[test]
    fn urls_are_those_of_github_or_of_an_enterprise() {
        let own = github("https://github.com", "https://api.github.com");
        assert_eq!(own.user.as_str(), "https://api.github.com/user");
        let own = github("https://git.example.com", "https://git.example.com/api/v3/");
        assert_eq!(own.emails.as_str(), "https://git.example.com/api/v3/user/emails");
        assert_eq!(
            own.client.token_uri().as_str(),
            "https://git.example.com/login/oauth/access_token"
        );
    }

    #[test]
    fn authorization_request_has_pkce_and_state() {
        let state = LoginState::generate();
        let redirect = "https://memory.example.com/auth/github".parse().expect("a URL");
        let github = github("https://github.com", "https://api.github.com");
        let request = github.authorize(&state, &redirect);
        let parameter = |name: &str| {
            let mut pairs = request.url.query_pairs();
            pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
        };
        assert_eq!(parameter("state").as_deref(), Some(state.expose()));
        assert_eq!(parameter("code_challenge_method").as_deref(), Some("S256"));
        assert_eq!(parameter("redirect_uri").as_deref(), Some(redirect.as_str()));
        assert_eq!(parameter("scope").as_deref(), Some("read:user user:email"));
        let challenge = PkceCodeChallenge::from_code_verifier_sha256(&request.pkce_verifier);
        assert_eq!(parameter("code_challenge").as_deref(), Some(challenge.as_str()));
    }

    #[test]
    fn only_a_verified_primary_address_is_used() {
        let emails = vec![email("b@x", false, true), email("a@x", true, true)];
        assert_eq!(primary(emails).as_deref(), Some("a@x"));
        let emails = vec![email("b@x", false, true), email("a@x", true, false)];
        assert_eq!(primary(emails), None);
    }
}
