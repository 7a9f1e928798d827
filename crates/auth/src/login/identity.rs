//! Who a provider says it was.

use super::{Error, ProviderName};

/// A person as a provider knows them. `provider` and `subject` together identify them for good; the
/// rest changes, and none of it finds an account: an e-mail address may pass to somebody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalIdentity {
    /// Which provider says so.
    pub provider: ProviderName,
    /// The provider's own id of the person, never given to another: 1 to 255 characters of ASCII.
    pub subject: String,
    /// The name the person signs in with, if the provider tells it; one line of at most 200
    /// characters.
    pub login: Option<String>,
    /// What the person is called; likewise.
    pub name: Option<String>,
    /// An address that the provider says to have verified.
    pub email: Option<String>,
}

/// What a provider said, before it is believed.
pub(super) struct Said {
    pub(super) subject: String,
    pub(super) login: Option<String>,
    pub(super) name: Option<String>,
    pub(super) verified_email: Option<String>,
}

const MAX_SUBJECT: usize = 255;
const MAX_NAME: usize = 200;
/// RFC 5321, section 4.5.3.1.3, without the angle brackets.
const MAX_EMAIL: usize = 254;

impl Said {
    /// Refuses an id that is none; leaves out what else can't be stored or shown.
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

    fn said(subject: &str, name: &str, email: &str) -> Result<ExternalIdentity, Error> {
        let said = Said {
            subject: subject.to_owned(),
            login: None,
            name: Some(name.to_owned()),
            verified_email: Some(email.to_owned()),
        };
        said.checked(&ProviderName::parse("corp").expect("a name"))
    }

    #[test]
    fn what_cannot_be_stored_or_shown_is_left_out() {
        let good = said("1", "Ada Lovelace", "ada@example.com").expect("a subject");
        assert_eq!(good.name.as_deref(), Some("Ada Lovelace"));
        assert_eq!(good.email.as_deref(), Some("ada@example.com"));
        for bad in ["", " ", "a\nb", "a\0@b", &"x".repeat(300)] {
            let identity = said("1", bad, bad).expect("a subject");
            assert_eq!((identity.name, identity.email), (None, None), "{bad:?}");
        }
    }

    #[test]
    fn a_person_without_a_proper_id_is_nobody() {
        for bad in ["", "a\0", "ä", &"x".repeat(256)] {
            assert!(matches!(said(bad, "", ""), Err(Error::Identity { .. })), "{bad:?}");
        }
    }
}
