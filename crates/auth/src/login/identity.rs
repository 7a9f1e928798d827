//! The identity of a person at a provider.

use url::Url;

use super::{Error, ProviderName};

/// The identity of a person at a provider. `provider` and `subject` identify the person
/// permanently. The address changes and never selects an account: it may pass to another person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalIdentity {
    /// Configured name of the provider that authenticated the user.
    pub provider: ProviderName,
    /// The provider's id of the person, never reassigned: 1 to 255 characters of ASCII.
    pub subject: String,
    /// An e-mail address that the provider has verified.
    pub email: Option<String>,
    /// The account, if the provider is a git host.
    pub account: Option<HostAccount>,
}

/// The account of a person at a git host, by the name that its owner can change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostAccount {
    /// Host of the pages, with a port if it is not the default one.
    pub host: String,
    /// Name of the account.
    pub login: String,
}

const MAX_SUBJECT: usize = 255;
/// Characters of the name of an account.
const MAX_LOGIN: usize = 128;
/// RFC 5321, section 4.5.3.1.3, without the angle brackets.
const MAX_EMAIL: usize = 254;

impl ExternalIdentity {
    /// Validates claims: an invalid subject is an error, an invalid address is dropped.
    pub(super) fn new(
        provider: &ProviderName,
        subject: String,
        verified_email: Option<String>,
    ) -> Result<Self, Error> {
        let is_plain = subject.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if !is_plain || !(1..=MAX_SUBJECT).contains(&subject.len()) {
            let reason = "the subject is not 1 to 255 characters of ASCII".to_owned();
            return Err(Error::Identity(provider.clone(), reason));
        }
        let email = verified_email.filter(|email| is_email(email));
        Ok(Self { provider: provider.clone(), subject, email, account: None })
    }

    /// Returns the identity with the account at a git host. An unusable name is dropped.
    pub(super) fn with_account(self, web: &Url, login: String) -> Self {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let is_usable = (1..=MAX_LOGIN).contains(&login.len()) && login.chars().all(is_name);
        let host = web.host_str().filter(|_| is_usable).map(|host| match web.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        });
        Self { account: host.map(|host| HostAccount { host, login }), ..self }
    }
}

fn is_email(text: &str) -> bool {
    let has_two_sides = text.split_once('@').is_some_and(|(a, b)| !a.is_empty() && !b.is_empty());
    let is_clean = text.chars().all(|c| !c.is_control() && !c.is_whitespace());
    has_two_sides && is_clean && text.len() <= MAX_EMAIL
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(subject: &str, email: &str) -> Result<ExternalIdentity, Error> {
        let provider = ProviderName::parse("corp").expect("a name");
        ExternalIdentity::new(&provider, subject.to_owned(), Some(email.to_owned()))
    }

    #[test]
    fn invalid_addresses_are_dropped() {
        let good = identity("1", "ada@example.com").expect("a subject");
        assert_eq!(good.email.as_deref(), Some("ada@example.com"));
        for bad in ["", " ", "a\nb", "a\0@b", &"x".repeat(300)] {
            assert_eq!(identity("1", bad).expect("a subject").email, None, "{bad:?}");
        }
    }

    #[test]
    fn account_has_the_host_of_the_pages() {
        let account = |web: &str, login: &str| {
            let web = Url::parse(web).expect("a URL");
            identity("1", "").expect("a subject").with_account(&web, login.to_owned()).account
        };
        let expected =
            |host: &str| Some(HostAccount { host: host.to_owned(), login: "ada-l".to_owned() });
        assert_eq!(account("https://github.com/", "ada-l"), expected("github.com"));
        assert_eq!(
            account("https://Git.Example.org:8443/x", "ada-l"),
            expected("git.example.org:8443")
        );
        for bad in ["", "a b", "a\0", &"x".repeat(129)] {
            assert_eq!(account("https://github.com", bad), None, "{bad:?}");
        }
    }

    #[test]
    fn invalid_subject_is_rejected() {
        for bad in ["", "a\0", "ä", &"x".repeat(256)] {
            assert!(matches!(identity(bad, ""), Err(Error::Identity(..))), "{bad:?}");
        }
    }
}
