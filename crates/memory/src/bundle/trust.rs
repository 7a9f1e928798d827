//! Trust in bundles.

use mc_domain::{RecordKind, Trust};
use mc_store::passages::Passage;

/// Returns the trust level of a passage.
pub fn trust(passage: &Passage) -> Trust {
    let record = passage.record.as_ref().map(|record| record.trust);
    let doc = passage.doc.as_ref().map(|doc| doc.trust);
    let code = passage.code.as_ref().map(|code| code.trust);
    let talk = passage.dialog.map(|_| Trust::Team);
    let commit = passage.commit.as_ref().map(|commit| commit.trust);
    record.or(doc).or(code).or(talk).or(commit).unwrap_or(Trust::Imported)
}

/// Whether a record may be recalled. Untrusted records may inform, but give no instructions:
/// untrusted rules and gotchas are left out of every section.
pub fn admits(kind: RecordKind, trust: Trust) -> bool {
    trust > Trust::Untrusted || !matches!(kind, RecordKind::Rule | RecordKind::Gotcha)
}

/// Moves untrusted items behind all others, which keep their order. However well they match, they
/// take only the room that is left.
pub fn sort_by_trust<T>(items: &mut [T], trust: impl Fn(&T) -> Trust) {
    items.sort_by_key(|item| trust(item) == Trust::Untrusted);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_untrusted_rules_and_gotchas_are_left_out() {
        for kind in RecordKind::ALL {
            let tells_what_to_do = matches!(kind, RecordKind::Rule | RecordKind::Gotcha);
            assert_eq!(admits(*kind, Trust::Untrusted), !tells_what_to_do, "{kind}");
            assert!(Trust::ALL[1..].iter().all(|trust| admits(*kind, *trust)), "{kind}");
        }
    }

    proptest! {
        #[test]
        fn untrusted_items_come_after_all_others(
            trusts in prop::collection::vec(prop::sample::select(Trust::ALL), 0..20),
        ) {
            let mut items: Vec<(usize, Trust)> = trusts.into_iter().enumerate().collect();
            let mut others: Vec<_> = items.clone();
            others.retain(|(_, trust)| *trust > Trust::Untrusted);
            sort_by_trust(&mut items, |(_, trust)| *trust);
            prop_assert_eq!(&items[..others.len()], &others[..], "the others keep their order");
            prop_assert!(items[others.len()..].iter().all(|(_, trust)| *trust == Trust::Untrusted));
        }
    }
}
