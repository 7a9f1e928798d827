//! Names that are not accessed.

/// Returns whether this is the name of git's directory, also on file systems that ignore case or
/// characters without width.
pub fn is_name_of_git(name: &str) -> bool {
    let is_visible = |c: &char| {
        !matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}')
    };
    let name: String = name.chars().filter(is_visible).collect();
    let name = name.trim_end_matches(['.', ' ']);
    name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case("git~1")
}
