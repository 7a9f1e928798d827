//! Paths of patches.

/// Maximum length of a path, and of one of its names, in bytes.
const MAX_PATH_BYTES: usize = 4_096;
const MAX_NAME_BYTES: usize = 255;
/// Characters that file systems of other machines ignore in names, so that git treats a name with
/// them as its own.
const IGNORED: [char; 16] = [
    '\u{200c}', '\u{200d}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}',
    '\u{202e}', '\u{206a}', '\u{206b}', '\u{206c}', '\u{206d}', '\u{206e}', '\u{206f}', '\u{feff}',
];

/// Returns whether a path is one below a directory, and not one of git.
pub(crate) fn is_allowed(path: &str) -> bool {
    let is_bad = |name: &str| {
        matches!(name, "" | "." | "..") || name.len() > MAX_NAME_BYTES || is_name_of_git(name)
    };
    let has_control = path.chars().any(char::is_control);
    path.len() <= MAX_PATH_BYTES && !has_control && !path.split('/').any(is_bad)
}

/// Returns whether git treats a name as that of its own directory, on some file system.
fn is_name_of_git(name: &str) -> bool {
    let visible: String = name.chars().filter(|c| !IGNORED.contains(c)).collect();
    // Windows ignores dots and spaces at the end, and what follows a colon.
    let stem = visible.split(':').next().unwrap_or_default();
    let lower = stem.trim_end_matches(['.', ' ']).to_ascii_lowercase();
    // The short name that Windows gives to a directory.
    matches!(lower.as_str(), ".git" | "git~1") || visible.contains('\\')
}

/// Reads a path in the quotation marks of git, with its escapes. Returns its bytes, and what
/// follows the quotation marks.
pub(crate) fn unquote(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut path = Vec::new();
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        match byte {
            b'"' => return Some((path, rest)),
            b'\\' => {
                let (escaped, after) = unescape(rest)?;
                path.push(escaped);
                rest = after;
            }
            byte => path.push(byte),
        }
    }
}

/// Reads an escape after its backslash.
fn unescape(text: &[u8]) -> Option<(u8, &[u8])> {
    let (&byte, rest) = text.split_first()?;
    let simple = match byte {
        b'a' => 7,
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 11,
        b'f' => 12,
        b'r' => b'\r',
        b'"' | b'\\' => byte,
        b'0'..=b'3' => {
            let digits = text.get(..3)?;
            let value = digits.iter().try_fold(0_u8, |value, digit| {
                let digit = digit.checked_sub(b'0').filter(|digit| *digit < 8)?;
                value.checked_mul(8)?.checked_add(digit)
            })?;
            return Some((value, &text[3..]));
        }
        _ => return None,
    };
    Some((simple, rest))
}

/// Writes a path as git does: in quotation marks if it has special characters.
pub(crate) fn quoted(prefix: &str, path: &str) -> String {
    let is_plain = |c: char| c >= ' ' && c != '"' && c != '\\' && c != '\u{7f}';
    if path.chars().all(is_plain) {
        return format!("{prefix}{path}");
    }
    let mut quoted = format!("\"{prefix}");
    for c in path.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if is_plain(c) => quoted.push(c),
            c => quoted.push_str(&format!("\\{:03o}", u32::from(c))),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_below_the_directory_are_allowed() {
        for path in ["a", "src/é b.rs", ".github/workflows/ci.yml", ".gitignore", "a/..b", "git"] {
            assert!(is_allowed(path), "{path}");
        }
        for path in [
            "",
            "/etc/passwd",
            "../a",
            "a/../b",
            "./a",
            "a//b",
            "a/",
            ".git/config",
            "x/.GIT/hooks",
            ".git ",
            ".git.",
            "GIT~1/config",
            ".g\u{200c}it/config",
            ".git::$INDEX",
            "a\\..\\b",
            "a\0b",
            "a\nb",
        ] {
            assert!(!is_allowed(path), "{path:?}");
        }
        assert!(!is_allowed(&"a".repeat(256)) && !is_allowed(&"a/".repeat(3_000)));
    }

    #[test]
    fn quoted_paths_are_read_and_written() {
        assert_eq!(unquote(br#""a\303\251 \"\\\t" b"#), Some(("aé \"\\\t".into(), &b" b"[..])));
        for bad in [&br#""a"#[..], br#""\9""#, br#""\777""#, br#""\1""#, b"a"] {
            assert_eq!(unquote(bad), None);
        }
        for path in ["plain é", "q\"u\\o", "tab\t"] {
            let written = quoted("a/", path);
            let read = match unquote(written.as_bytes()) {
                Some((bytes, rest)) => {
                    assert!(rest.is_empty());
                    bytes
                }
                None => written.into_bytes(),
            };
            assert_eq!(read, format!("a/{path}").as_bytes());
        }
    }
}
