//! The identity of a person at a provider.

use super::{Error, ProviderName};

/// The identity of a person at a provider. `provider` and `subject` identify the person
/// permanently. The other fields change and never select an account: an e-mail address may pass to
/// another person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalIdentity {
    /// The provider.
    pub provider: ProviderName,
    /// The provider's id of the person, never reassigned: 1 to 255 characters of ASCII.
    pub subject: String,
    /// The login name, if the provider has one: one line of at most 200 characters.
    pub login: Option<String>,
    /// The display name: one line of at most 200 characters.
    pub name: Option<String>,
    /// An e-mail address that the provider has verified.
    pub email: Option<String>,
}

/// The claims of a provider, before validation.
pub(super) struct ProviderClaims {
    pub(super) subject: String,
    pub(super) login: Option<String>,
    pub(super) name: Option<String>,
    pub(super) verified_email: Option<String>,
}

const MAX_SUBJECT: usize = 255;
const MAX_NAME: usize = 200;
/// RFC 5321, section 4.5.3.1.3, without the angle brackets.
const MAX_EMAIL: usize = 254;

impl ProviderClaims {
    /// Validates the claims: an invalid subject is an error, other invalid values are dropped.
    pub(super) fn checked(self, provider: &ProviderName) -> Result<ExternalIdentity, Error> {
        let length = self.subject.len();
        if !(1..=MAX_SUBJECT).contains(&length) || !is_plain_ascii(&self.subject) {
            let reason = "the subject is not 1 to 255 characters of ASCII".to_owned();
            return Err(Error::Identity { provider: provider.clone(), reason });
        }
        Ok(ExternalIdentity {
            provider: provider.clone(),
            subject: self.subject,
            login: self.login.filter(|login| is_name(login)),
            name: self.name.filter(|name| is_name(name)),
            email: self.verified_email.filter(|email| is_email(email)),
        })
    }
}

fn is_plain_ascii(text: &str) -> bool {
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

fn is_name(text: &str) -> bool {
    let is_filled = !text.trim().is_empty();
    is_filled && text.chars().count() <= MAX_NAME && mc_domain::check_line(text).is_ok()
}

fn is_email(text: &str) -> bool {
    let has_two_sides = text.split_once('@').is_some_and(|(a, b)| !a.is_empty() && !b.is_empty());
    let is_clean = text.chars().all(|c| !c.is_control() && !c.is_whitespace());
    has_two_sides && is_clean && text.len() <= MAX_EMAIL
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(subject: &str, name: &str, email: &str) -> Result<ExternalIdentity, Error> {
        let claims = ProviderClaims {
            subject: subject.to_owned(),
            login: None,
            name: Some(name.to_owned()),
            verified_email: Some(email.to_owned()),
        };
        claims.checked(&ProviderName::parse("corp").expect("a name"))
    }

    #[test]
    fn invalid_names_and_addresses_are_dropped() {
        let good = identity("1", "Ada Lovelace", "ada@example.com").expect("a subject");
        assert_eq!(good.name.as_deref(), Some("Ada Lovelace"));
        assert_eq!(good.email.as_deref(), Some("ada@example.com"));
        for bad in ["", " ", "a\nb", "a\0@b", &"x".repeat(300)] {
            let dropped = identity("1", bad, bad).expect("a subject");
            assert_eq!((dropped.name, dropped.email), (None, None), "{bad:?}");
        }
    }

    #[test]
    fn invalid_subject_is_rejected() {
        for bad in ["", "a\0", "ä", &"x".repeat(256)] {
            assert!(matches!(identity(bad, "", ""), Err(Error::Identity { .. })), "{bad:?}");
        }
    }
}
