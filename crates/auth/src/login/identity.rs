//! The identity of a person at a provider.

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
}

const MAX_SUBJECT: usize = 255;
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
        Ok(Self { provider: provider.clone(), subject, email })
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
    fn invalid_subject_is_rejected() {
        for bad in ["", "a\0", "ä", &"x".repeat(256)] {
            assert!(matches!(identity(bad, ""), Err(Error::Identity(..))), "{bad:?}");
        }
    }
}
