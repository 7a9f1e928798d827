//! Replacement of a text that occurs once.

use std::borrow::Cow;

use mc_prompt_guard::neutralize;

use crate::edit::matches::{find, own_characters};
use crate::edit::{Edited, apply, closest, pieces};
use crate::error::EditError;
use crate::file_text::Encoding;
use crate::limits::MAX_FILE_BYTES;
use crate::line::with_lf;
use crate::mapped_text::MappedText;
use crate::view::View;

/// Number of matches that an error names.
const NAMED_MATCHES: usize = 5;

/// Replaces `old`, which must be in the shown text exactly once, by `new`. The edited file has at
/// most `max_bytes`.
///
/// The characters of the file, such as CRLF or a special token, may be sent instead of the shown
/// ones. New lines get the line ending of the replaced text, or else the most frequent one of the
/// file. Text that `old` and `new` share keeps its bytes.
///
/// Fails if `old` is empty, equal to `new`, not in the file or in it several times, if the changed
/// part is masked, or if `new` has a placeholder or the shown form of other characters.
pub fn str_replace(
    view: &View<'_>,
    old: &str,
    new: &str,
    max_bytes: usize,
) -> Result<Edited, EditError> {
    check_request(view, old, new)?;
    let (old, new) = (with_lf(old), with_lf(new));
    if old == new {
        return Err(EditError::NoChange);
    }
    let own = own_characters(view);
    let forms = [view.mapped(), &own];
    let (mapped, found) = match find_once(view, &forms, &old)? {
        Some(found) => found,
        None => match neutralize(&old) {
            // The request mixes shown characters with those of the file.
            Cow::Owned(shown) if !shown.is_empty() => find_once(view, &forms[..1], &shown)?,
            _ => None,
        }
        .ok_or_else(|| EditError::NotFound { closest: closest::find(view, &old) })?,
    };
    let ending = pieces::ending_at(view, found.text);
    let splices = pieces::splices(view, mapped, found.shown, &new, ending)?;
    apply(view, &splices, max_bytes)
}

fn check_request(view: &View<'_>, old: &str, new: &str) -> Result<(), EditError> {
    if view.file().encoding() == Encoding::Unknown8Bit {
        return Err(EditError::UnknownEncoding);
    }
    if old.is_empty() {
        return Err(EditError::Empty("old_str"));
    }
    let bytes = old.len().max(new.len());
    if bytes > MAX_FILE_BYTES {
        return Err(EditError::TooLarge { bytes, max: MAX_FILE_BYTES });
    }
    Ok(())
}

/// Returns the only occurrence in any of the forms, and its form; `None` without any.
fn find_once<'l>(
    view: &View<'_>,
    forms: &[&'l MappedText],
    old: &str,
) -> Result<Option<(&'l MappedText, super::matches::Match)>, EditError> {
    let mut all = Vec::new();
    for (at, mapped) in forms.iter().enumerate() {
        all.extend(find(mapped, old).into_iter().map(|found| (at, found)));
    }
    // The same place is found in several forms, and the first of them is used.
    all.sort_by_key(|(at, found)| (found.text.start, found.text.end, *at));
    all.dedup_by(|(_, next), (_, before)| next.text == before.text);
    match all.as_slice() {
        [] => Ok(None),
        [(at, found)] => Ok(Some((forms[*at], found.clone()))),
        several => {
            let lines = several.iter().take(NAMED_MATCHES);
            let lines = lines.map(|(_, found)| view.line_number(found.text.start)).collect();
            Err(EditError::Ambiguous { count: several.len(), lines })
        }
    }
}
