//! URLs without secrets: as `config show` prints them.

use url::Url;

/// Masks the password and the secret query parameters of a URL. Masks the whole text if it is no
/// URL, or if the parser may have missed a password.
pub fn masked_url(text: &str) -> String {
    const MASK: &str = "masked";
    const SECRETS: [&str; 4] = ["pass", "secret", "token", "key"];
    if text.is_empty() {
        return String::new();
    }
    let read = Url::parse(text).ok().filter(|url| !may_hide_a_user(url));
    let Some(mut url) = read else { return MASK.to_owned() };
    if url.password().is_some() {
        // Only a URL that can't have one refuses a password, and this one has.
        let _ = url.set_password(Some(MASK));
    }
    if url.query().is_some() {
        let pairs: Vec<(String, String)> = url
            .query_pairs()
            .map(|(name, value)| {
                let lower = name.to_lowercase();
                let is_secret = SECRETS.iter().any(|word| lower.contains(word));
                (name.into_owned(), if is_secret { MASK.to_owned() } else { value.into_owned() })
            })
            .collect();
        url.query_pairs_mut().clear().extend_pairs(pairs);
    }
    url.into()
}

/// Returns whether the URL may have a user and password outside its authority. A URL without `//`
/// has no authority; in `me:2024/secret@db` the parser reads `me` as the host and `2024` as the
/// port.
fn may_hide_a_user(url: &Url) -> bool {
    let rest = [Some(url.path()), url.query(), url.fragment()];
    url.cannot_be_a_base() || rest.into_iter().flatten().any(|part| part.contains('@'))
}
