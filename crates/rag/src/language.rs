//! Names of programming languages, as filters have them.

use mc_contract::text::Language;

/// Returns the languages as the indexer names them. Unknown ones are left out, with a warning.
pub(crate) fn known(languages: &[Language], warnings: &mut Vec<String>) -> Vec<String> {
    let mut known = Vec::with_capacity(languages.len());
    for language in languages {
        match mc_indexer::language::from_name(language.as_str()) {
            Ok(name) => known.push(name.to_owned()),
            Err(error) => warnings.push(format!("filters.languages: {error}; it is left out")),
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_language_is_left_out_with_a_warning() {
        let languages = ["rb", "nolang"].map(|name| Language::parse(name).expect("a line"));
        let mut warnings = Vec::new();
        assert_eq!(known(&languages, &mut warnings), ["ruby"]);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
    }
}
