//! Here-documents that write a file of secrets: `cat <<EOF > .env`.

use std::ops::Range;

use super::name::{Name, Names, Strength};
use super::{AssignedSecret, Requirements, judge};
use crate::keyword_scan::KeywordScan;
use crate::randomness;

/// Maximum bytes of the command before the mark.
const MAX_COMMAND: usize = 256;

/// Maximum bytes of the command from the mark on.
const MAX_REST: usize = 4096;

/// Maximum marks of a line that are tried: a shift of bits has the same mark.
const MAX_MARKS: usize = 8;

/// Maximum length of a document, in bytes.
const MAX_DOCUMENT: usize = 16_384;

/// Minimum length of a password in a file of secrets, in bytes.
const MIN_PASSWORD: usize = 5;

/// Parts of names of files whose settings are secrets.
const FILES: [&str; 5] = [".env", "credentials", "secrets", ".npmrc", ".my.cnf"];

/// Returns the secrets in here-documents.
pub(crate) fn secrets_in_documents(scan: &KeywordScan<'_>, names: &Names) -> Vec<AssignedSecret> {
    let text = scan.text;
    let mut found = Vec::new();
    let (mut done, mut line_end, mut marks) = (0, 0, 0);
    for mark in scan.documents.iter().copied() {
        // One search for each line, as a long line may have many marks.
        if line_end <= mark {
            line_end = text[mark..].find('\n').map_or(text.len(), |length| mark + length);
            marks = 0;
        }
        marks += 1;
        if mark < done || marks > MAX_MARKS || line_end - mark > MAX_REST {
            continue;
        }
        let end = mark + text[mark..line_end].trim_end_matches('\r').len();
        let Some((file, delimiter)) = command(text, mark, end) else { continue };
        done = line_end;
        let has_settings = FILES.iter().any(|part| text[file.clone()].contains(part));
        let is_secret = names_secret(scan, &file);
        if !has_settings && !is_secret {
            continue;
        }
        let body = body(text, line_end, delimiter);
        done = body.end;
        for line in lines(text, body) {
            let secret = match text[line.clone()].find('=') {
                Some(sign) if has_settings => setting(scan, line, sign, names),
                None if is_secret => single(text, line, names),
                _ => None,
            };
            found.extend(secret);
        }
    }
    found
}

/// Returns the name of the file that the command with the mark of a here-document writes to, and
/// the delimiter of the document.
fn command(text: &str, mark: usize, end: usize) -> Option<(Range<usize>, &str)> {
    let near = text.floor_char_boundary(mark.saturating_sub(MAX_COMMAND));
    let start = text[near..mark].rfind('\n').map_or(near, |line_break| near + line_break + 1);
    let word = text[mark + 2..end].trim_start_matches(['-', '~', ' ', '\'', '"', '\\']);
    let length = word.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
    (length >= 2).then_some(())?;
    Some((target(text, start..end)?, &word[..length]))
}

/// Returns the document after the line at `at`. One that has no end is cut off.
fn body(text: &str, at: usize, delimiter: &str) -> Range<usize> {
    let start = text[at..].find('\n').map_or(text.len(), |line_break| at + line_break + 1);
    let last = text.ceil_char_boundary((start + MAX_DOCUMENT).min(text.len()));
    let mut end = start;
    for line in text[start..last].split_inclusive('\n') {
        if line.trim() == delimiter {
            break;
        }
        end += line.len();
    }
    start..end
}

/// Returns the lines of a document, without the spaces around each.
fn lines(text: &str, body: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
    text[body].lines().map(|line| {
        let start = line.trim_start().as_ptr() as usize - text.as_ptr() as usize;
        start..start + line.trim().len()
    })
}

/// Returns the name of the file that a command writes to.
fn target(text: &str, command: Range<usize>) -> Option<Range<usize>> {
    let whole = &text[command.clone()];
    let after = ["> ", ">", "tee -a ", "tee "]
        .iter()
        .find_map(|sign| whole.rfind(sign).map(|at| at + sign.len()))?;
    let name = whole[after..].split([' ', '|', ';', '&', '<']).next()?;
    (!name.is_empty()).then(|| command.start + after..command.start + after + name.len())
}

/// Returns the words in the range that may name a secret.
fn words<'s>(
    scan: &'s KeywordScan<'_>,
    range: &Range<usize>,
) -> impl Iterator<Item = (Range<usize>, Strength)> + 's {
    let (start, end) = (range.start, range.end);
    let next = scan.words.partition_point(|(word, _)| word.end <= start);
    let inside = scan.words[next..].iter().take_while(move |(word, _)| word.end <= end);
    inside.filter(move |(word, _)| word.start >= start).cloned()
}

/// Whether the name of a file says that it is a secret, and no text or program about one.
fn names_secret(scan: &KeywordScan<'_>, file: &Range<usize>) -> bool {
    let name = &scan.text[file.clone()];
    let is_other =
        [".md", ".sh", ".py", ".js", ".rs", ".html"].iter().any(|end| name.ends_with(end));
    !is_other && words(scan, file).any(|(_, strength)| strength != Strength::Weak)
}

/// Returns the value of a setting whose name is that of a password. In a file of secrets, a
/// password may consist of words.
fn setting(
    scan: &KeywordScan<'_>,
    line: Range<usize>,
    sign: usize,
    names: &Names,
) -> Option<AssignedSecret> {
    let name = line.start..line.start + sign;
    let strength = |(word, strength)| Name::around(scan.text, word)?.strength(strength, names);
    let is_password = words(scan, &name).filter_map(strength).any(|s| s == Strength::HumanChosen);
    let whole = &scan.text[name.end + 1..line.end];
    let value = whole.trim_matches(['"', '\'']);
    let is_filled = randomness::is_template(value) || randomness::is_filler(value);
    let is_value = value.len() >= MIN_PASSWORD && !value.contains(char::is_whitespace);
    (is_password && is_value && !is_filled && !names.is_stand_in(value)).then(|| {
        let start = name.end + 1 + (whole.len() - whole.trim_start_matches(['"', '\'']).len());
        AssignedSecret { span: start..start + value.len(), confidence: 0.5, human_chosen: true }
    })
}

/// Returns a line that is a secret as a whole.
fn single(text: &str, span: Range<usize>, names: &Names) -> Option<AssignedSecret> {
    let value = &text[span.clone()];
    let required =
        Requirements { evidence: 5.0, length: 8, human_chosen_length: Some(MIN_PASSWORD) };
    let is_word = !value.contains(char::is_whitespace);
    let (confidence, human_chosen) = is_word.then(|| judge(value, &required, names))??;
    Some(AssignedSecret { span, confidence, human_chosen })
}
