//! OAuth clients: the programs that request tokens.

use crate::short_name::short_name;

short_name!(
    /// The OAuth client that a token is issued to (`memory-copilot-cli`, `dashboard`): 1 to 64 of
    /// `a-z 0-9 . _ -`.
    ClientId, 64, "._-",
    InvalidClientId, "a client id is 1 to 64 lower-case letters, digits, \".\", \"_\" or \"-\""
);

/// The grant type of an invitation's code, of this service (RFC 6749, section 4.5).
pub const INVITATION_GRANT: &str = "urn:memory-copilot:grant-type:invitation";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_client_ids_are_rejected() {
        assert!(ClientId::parse("memory-copilot-cli").is_ok());
        for text in ["", "A", "a b", "a/b", "a\0", "<script>", &"x".repeat(65)] {
            assert_eq!(ClientId::parse(text), Err(InvalidClientId), "{text:?}");
        }
    }
}
