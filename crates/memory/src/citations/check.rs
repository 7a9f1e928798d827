//! Checking one citation against the indexed code.

use mc_domain::CitationVerdict;
use mc_store::citations::{Citation, SymbolSpan};
use sha2::{Digest, Sha256};

/// Letters and digits that make cited lines recognizable elsewhere, unlike `end` and `}`.
const TELLING_CHARS_MIN: usize = 12;

/// Indexed code of a cited place.
#[derive(Debug, Clone, Copy, Default)]
pub struct CodeView<'a> {
    /// Lines of each file with the cited path, one per repository that has it.
    pub files: &'a [Vec<String>],
    /// Definitions of the cited symbol, in any file.
    pub spans: &'a [SymbolSpan],
}

/// Checks a citation: returns it with its verdict, and with the path and lines of its text now.
pub fn check(citation: &Citation, code: &CodeView<'_>) -> Citation {
    let checked = match citation.symbol {
        Some(_) => check_symbol(citation, code),
        None => check_files(citation, code.files),
    };
    match checked {
        Ok(fresh) => Citation { verdict: CitationVerdict::Fresh, outdated: false, ..fresh },
        Err(verdict) => Citation { verdict, outdated: false, ..citation.clone() },
    }
}

/// Checks a citation without a symbol. It is fresh if it is in any repository that has the path.
fn check_files(citation: &Citation, files: &[Vec<String>]) -> Result<Citation, CitationVerdict> {
    let mut verdict = missing(citation);
    for (at, lines) in files.iter().enumerate() {
        let checked = match citation.lines {
            Some(span) => check_span(citation, span, lines),
            None => check_file(citation, lines),
        };
        match checked {
            Ok(fresh) => return Ok(fresh),
            // Changed code counts for more than lines that another repository never had.
            Err(found) if at == 0 || found == CitationVerdict::Drifted => verdict = found,
            Err(_) => {}
        }
    }
    Err(verdict)
}

/// Returns the verdict for code that is not indexed: orphaned if it was found before.
fn missing(citation: &Citation) -> CitationVerdict {
    match citation.verdict {
        CitationVerdict::Unchecked => CitationVerdict::Unchecked,
        CitationVerdict::Fresh | CitationVerdict::Drifted | CitationVerdict::Orphaned => {
            CitationVerdict::Orphaned
        }
    }
}

/// Checks a cited definition, which is found by name, and by its text if it moved.
fn check_symbol(citation: &Citation, code: &CodeView<'_>) -> Result<Citation, CitationVerdict> {
    let here = |span: &&SymbolSpan| span.path == citation.file_path;
    let at = |span: &SymbolSpan| Citation {
        file_path: span.path.clone(),
        lines: Some((span.line_start, span.line_end)),
        content_hash: Some(span.span_hash.clone()),
        ..citation.clone()
    };
    let in_file = code.spans.iter().find(here);
    let Some(hash) = &citation.content_hash else {
        // Without a hash, the current text is what the sender meant.
        let only = if code.spans.len() == 1 { code.spans.first() } else { None };
        return match in_file.or(only) {
            Some(span) => Ok(at(span)),
            None if code.spans.is_empty() && code.files.is_empty() => Err(missing(citation)),
            None if code.spans.is_empty() => Err(CitationVerdict::Orphaned),
            None => Err(CitationVerdict::Drifted),
        };
    };
    let same = |span: &&SymbolSpan| span.span_hash == *hash;
    let found = match in_file {
        // The file still defines it, so a copy elsewhere is not what was cited.
        Some(_) => code.spans.iter().filter(here).find(same),
        None => code.spans.iter().find(same),
    };
    match found {
        Some(span) => Ok(at(span)),
        None if !code.spans.is_empty() => Err(CitationVerdict::Drifted),
        None if code.files.is_empty() => Err(missing(citation)),
        None => Err(CitationVerdict::Orphaned),
    }
}

/// Checks cited lines, which are fresh if they are unchanged, wherever in the file they are now.
fn check_span(
    citation: &Citation,
    (start, end): (i32, i32),
    lines: &[String],
) -> Result<Citation, CitationVerdict> {
    let first = usize::try_from(start).unwrap_or(1).max(1) - 1;
    let count = usize::try_from(end.saturating_sub(start)).unwrap_or(0) + 1;
    let cited = lines.get(first..(first + count).min(lines.len()));
    let line = |index: usize| i32::try_from(index).unwrap_or(i32::MAX);
    let Some(hash) = &citation.content_hash else {
        return match cited {
            // Lines beyond the end of the file were not meant, so appended lines are no drift.
            Some(cited) if !cited.is_empty() => Ok(Citation {
                content_hash: Some(hash_lines(cited)),
                lines: Some((line(first + 1), line(first + cited.len()))),
                ..citation.clone()
            }),
            _ => Err(CitationVerdict::Orphaned),
        };
    };
    if cited.is_some_and(|cited| is_hash_of(hash, cited)) {
        return Ok(citation.clone());
    }
    match find_window(lines, first, count, hash) {
        Some(at) => {
            Ok(Citation { lines: Some((line(at + 1), line(at + count))), ..citation.clone() })
        }
        None => Err(CitationVerdict::Drifted),
    }
}

fn check_file(citation: &Citation, lines: &[String]) -> Result<Citation, CitationVerdict> {
    match &citation.content_hash {
        None => Ok(Citation { content_hash: Some(hash_lines(lines)), ..citation.clone() }),
        Some(hash) if is_hash_of(hash, lines) => Ok(citation.clone()),
        Some(_) => Err(CitationVerdict::Drifted),
    }
}

/// Finds `count` lines with this hash; returns the first index, the nearest to `origin`.
fn find_window(lines: &[String], origin: usize, count: usize, hash: &[u8]) -> Option<usize> {
    let last = lines.len().checked_sub(count)?;
    let origin = origin.min(last);
    let outwards = (0..=last).flat_map(|step| [origin.checked_sub(step), Some(origin + step)]);
    outwards.flatten().filter(|at| *at <= last).find(|at| {
        let window = &lines[*at..at + count];
        is_telling(window) && is_hash_of(hash, window)
    })
}

fn is_telling(window: &[String]) -> bool {
    window.iter().flat_map(|line| line.chars()).filter(|c| c.is_alphanumeric()).count()
        >= TELLING_CHARS_MIN
}

/// Returns the sha256 of lines joined by line feeds.
pub fn hash_lines(lines: &[String]) -> Vec<u8> {
    hash(lines, false)
}

/// Whether `expected` is the hash of these lines, with or without a final line feed.
fn is_hash_of(expected: &[u8], lines: &[String]) -> bool {
    hash(lines, false) == expected || hash(lines, true) == expected
}

fn hash(lines: &[String], trailing: bool) -> Vec<u8> {
    let mut digest = Sha256::new();
    for (at, line) in lines.iter().enumerate() {
        if at > 0 {
            digest.update(b"\n");
        }
        digest.update(line.trim_end_matches('\r'));
    }
    if trailing {
        digest.update(b"\n");
    }
    digest.finalize().to_vec()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use mc_domain::{CitationId, RecordId};
    use proptest::prelude::*;

    use super::*;

    const FILE: &str = concat!(
        "class Cart\n  def total\n    items.sum(&:price)\n  end\n\n",
        "  def empty?\n    items.none?\n  end\nend",
    );

    fn lines(text: &str) -> Vec<String> {
        text.split('\n').map(str::to_owned).collect()
    }

    fn citation(symbol: Option<&str>, span: Option<(i32, i32)>) -> Citation {
        Citation {
            id: CitationId::generate(),
            record: RecordId::generate(),
            file_path: "app/models/cart.rb".into(),
            symbol: symbol.map(str::to_owned),
            lines: span,
            commit: None,
            content_hash: None,
            verdict: CitationVerdict::Unchecked,
            checked_at: None,
            outdated: true,
        }
    }

    /// Checks a citation against the cited file's text in each repository.
    fn in_files(citation: &Citation, texts: &[&str]) -> Citation {
        let files: Vec<_> = texts.iter().map(|text| lines(text)).collect();
        check(citation, &CodeView { files: &files, spans: &[] })
    }

    /// Checks a citation against definitions; the cited path is indexed.
    fn in_spans(citation: &Citation, spans: &[SymbolSpan]) -> Citation {
        check(citation, &CodeView { files: &[lines(FILE)], spans })
    }

    fn span(path: &str, at: i32, text: &str) -> SymbolSpan {
        SymbolSpan {
            path: path.into(),
            line_start: at,
            line_end: at + 2,
            span_hash: hash_lines(&lines(text)),
        }
    }

    #[test]
    fn span_follows_its_lines_and_drifts_when_they_change() {
        let saved = in_files(&citation(None, Some((2, 4))), &[FILE]);
        assert_eq!((saved.verdict, saved.lines), (CitationVerdict::Fresh, Some((2, 4))));

        let shifted = in_files(&saved, &[&format!("# frozen\n\n{FILE}")]);
        assert_eq!((shifted.verdict, shifted.lines), (CitationVerdict::Fresh, Some((4, 6))));

        let changed = in_files(&saved, &[&FILE.replace("price", "cost")]);
        assert_eq!((changed.verdict, changed.lines), (CitationVerdict::Drifted, Some((2, 4))));

        let elsewhere = in_files(&saved, &[&FILE.replace("none?", "empty?")]);
        assert_eq!(elsewhere.verdict, CitationVerdict::Fresh);

        let gone = check(&saved, &CodeView::default());
        assert_eq!(gone.verdict, CitationVerdict::Orphaned);
        assert_eq!(in_files(&gone, &[FILE]).verdict, CitationVerdict::Fresh);
    }

    #[test]
    fn span_without_distinctive_lines_is_not_relocated() {
        let saved = in_files(&citation(None, Some((4, 4))), &[FILE]);
        let changed = FILE.replacen("  end", "  end # total", 1);
        assert_eq!(in_files(&saved, &[&changed]).verdict, CitationVerdict::Drifted);
    }

    #[test]
    fn lines_past_the_end_are_orphaned_and_unknown_files_unchecked() {
        assert_eq!(
            in_files(&citation(None, Some((90, 95))), &[FILE]).verdict,
            CitationVerdict::Orphaned
        );
        assert_eq!(
            check(&citation(None, Some((1, 2))), &CodeView::default()).verdict,
            CitationVerdict::Unchecked
        );
        assert_eq!(
            check(&citation(None, None), &CodeView::default()).verdict,
            CitationVerdict::Unchecked
        );
    }

    #[test]
    fn symbol_stays_fresh_when_moved_and_drifts_when_changed() {
        let body = "def total\n  sum\nend";
        let saved =
            in_spans(&citation(Some("Cart#total"), None), &[span("app/models/cart.rb", 2, body)]);
        assert_eq!((saved.verdict, saved.lines), (CitationVerdict::Fresh, Some((2, 4))));

        let moved = in_spans(&saved, &[span("lib/cart.rb", 9, body)]);
        assert_eq!(
            (moved.verdict, moved.file_path.as_str(), moved.lines),
            (CitationVerdict::Fresh, "lib/cart.rb", Some((9, 11)))
        );

        let changed = in_spans(&saved, &[span("app/models/cart.rb", 2, "def total\n  0\nend")]);
        assert_eq!(
            (changed.verdict, changed.file_path.as_str()),
            (CitationVerdict::Drifted, "app/models/cart.rb")
        );

        let copy = span("lib/cart.rb", 9, body);
        let changed = span("app/models/cart.rb", 2, "def total\n  0\nend");
        assert_eq!(in_spans(&saved, &[changed, copy]).verdict, CitationVerdict::Drifted);

        assert_eq!(in_spans(&saved, &[]).verdict, CitationVerdict::Orphaned);
        assert_eq!(check(&saved, &CodeView::default()).verdict, CitationVerdict::Orphaned);
    }

    #[test]
    fn path_in_two_repositories_is_fresh_while_one_has_it() {
        let other = "class Other\nend";
        let saved = in_files(&citation(None, Some((2, 4))), &[FILE]);
        assert_eq!(in_files(&saved, &[other, FILE]).verdict, CitationVerdict::Fresh);
        let changed = FILE.replace("price", "cost");
        assert_eq!(in_files(&saved, &[other, &changed]).verdict, CitationVerdict::Drifted);
    }

    #[test]
    fn lines_past_the_end_are_cut_to_the_file() {
        let saved = in_files(&citation(None, Some((8, 90))), &[FILE]);
        assert_eq!((saved.verdict, saved.lines), (CitationVerdict::Fresh, Some((8, 9))));
        assert_eq!(in_files(&saved, &[&format!("{FILE}\nputs 1")]).verdict, CitationVerdict::Fresh);
    }

    #[test]
    fn callers_hash_matches_with_and_without_final_line_feed() {
        for text in ["    items.sum(&:price)", "    items.sum(&:price)\n"] {
            let given = Citation {
                content_hash: Some(Sha256::digest(text).to_vec()),
                ..citation(None, Some((3, 3)))
            };
            assert_eq!(in_files(&given, &[FILE]).verdict, CitationVerdict::Fresh, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn only_edits_of_cited_lines_cause_drift(
            edited in 0usize..40, start in 1usize..30, count in 1usize..8,
        ) {
            let line = |n| format!("let value_{n} = compute({n});");
            let original: Vec<String> = (0..40).map(line).collect();
            let end = (start + count - 1).min(40);
            let span = (i32::try_from(start).unwrap(), i32::try_from(end).unwrap());
            let in_lines = |citation: &Citation, lines: &[String]| {
                check(citation, &CodeView { files: &[lines.to_vec()], spans: &[] })
            };
            let saved = in_lines(&citation(None, Some(span)), &original);
            let mut changed = original.clone();
            changed[edited].push_str(" // edited");
            let is_cited = (start - 1..end).contains(&edited);
            let verdict = in_lines(&saved, &changed).verdict;
            let expected =
                if is_cited { CitationVerdict::Drifted } else { CitationVerdict::Fresh };
            prop_assert_eq!(verdict, expected);
            changed[edited] = original[edited].clone();
            changed.insert(edited, "inserted".to_owned());
            let splits = (start..end).contains(&edited);
            let verdict = in_lines(&saved, &changed).verdict;
            let expected =
                if splits { CitationVerdict::Drifted } else { CitationVerdict::Fresh };
            prop_assert_eq!(verdict, expected);
        }
    }
}
