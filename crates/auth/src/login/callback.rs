//! The authorization response that the browser returns (RFC 6749, section 4.1.2).

use std::fmt;

use url::form_urlencoded;

use super::Error;
use super::error::shown_code;
use crate::secret::LoginState;

/// Maximum length of an authorization code, in bytes; providers' codes have some hundreds at most.
const MAX_CODE: usize = 4096;

/// An authorization response.
pub struct Callback {
    pub(super) code: String,
    pub(super) state: LoginState,
    pub(super) issuer: Option<String>,
}

impl Callback {
    /// Parses the query of the redirect URL. A duplicate parameter is an error. So is a response
    /// that the login was not approved; its stored data expires.
    pub fn from_query(query: &str) -> Result<Self, Error> {
        let [code, state, issuer, error] = ["code", "state", "iss", "error"].map(|name| {
            let mut values = form_urlencoded::parse(query.as_bytes())
                .filter(|(key, _)| key == name)
                .map(|(_, value)| value.into_owned());
            let value = values.next();
            if values.next().is_some() { Err(Error::BadCallback) } else { Ok(value) }
        });
        let (code, error) = (code?, error?);
        let state = state?.ok_or(Error::BadCallback)?;
        let state = LoginState::parse(&state).ok_or(Error::WrongState)?;
        match (code, error) {
            (None, Some(error)) => Err(Error::NotApproved(shown_code(&error))),
            (Some(code), None) if (1..=MAX_CODE).contains(&code.len()) => {
                Ok(Self { code, state, issuer: issuer? })
            }
            _ => Err(Error::BadCallback),
        }
    }

    /// Returns the state, to compare with the browser's cookie and to find the stored login.
    pub fn state(&self) -> &LoginState {
        &self.state
    }
}

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callback").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_is_parsed() {
        let state = LoginState::generate();
        let query = format!("code=a%2Bb&state={}&iss=https%3A%2F%2Fid", state.expose());
        let callback = Callback::from_query(&query).expect("an answer");
        assert_eq!(callback.code, "a+b");
        assert_eq!(callback.state().hash(), state.hash());
        assert_eq!(callback.issuer.as_deref(), Some("https://id"));
        assert!(!format!("{callback:?}").contains("a+b"));
    }

    #[test]
    fn invalid_responses_are_rejected() {
        let state = LoginState::generate();
        let state = state.expose();
        let bad = [
            String::new(),
            format!("state={state}"),
            "code=a".to_owned(),
            format!("code=&state={state}"),
            format!("code=a&code=b&state={state}"),
            format!("code=a&state={state}&state={state}"),
            format!("code=a&state={state}&iss=x&iss=x"),
            format!("code=a&error=access_denied&state={state}"),
            format!("code={}&state={state}", "a".repeat(MAX_CODE + 1)),
        ];
        for query in bad {
            assert_eq!(Callback::from_query(&query).err(), Some(Error::BadCallback), "{query}");
        }
        let made_up = Callback::from_query("code=a&state=xyz");
        assert_eq!(made_up.err(), Some(Error::WrongState));
    }

    #[test]
    fn denial_has_the_error_code_without_a_description() {
        let state = LoginState::generate();
        let query =
            format!("error=access_denied<b>&error_description=call+0900&state={}", state.expose());
        let code = "access_deniedb".to_owned();
        assert_eq!(Callback::from_query(&query).err(), Some(Error::NotApproved(code)));
    }
}
