//! The front matter of a rules file.
//!
//! It is read by lines, as editors do: globs such as `*.ts` are no valid YAML.

/// The fields of a front matter that matter to a note.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FrontMatter {
    /// What the rules are about.
    pub description: String,
    /// Globs of the files to which the rules apply.
    pub globs: Vec<String>,
    /// Status of a decision.
    pub status: String,
}

/// Splits a file into its front matter and the rest, with the number of lines before the rest.
pub fn split(text: &str) -> (FrontMatter, &str, u32) {
    let none = || (FrontMatter::default(), text, 0);
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else { return none() };
    let (mut read, mut fields, mut count) = (first.len(), Vec::new(), 1);
    for line in lines {
        read += line.len();
        count += 1;
        if line.trim_end() == "---" {
            return (parse(&fields), &text[read..], count);
        }
        fields.push(line.trim_end());
    }
    none()
}

fn parse(lines: &[&str]) -> FrontMatter {
    let mut matter = FrontMatter::default();
    let mut key = "";
    for line in lines {
        if let Some(item) = line.trim_start().strip_prefix("- ") {
            add(&mut matter, key, item);
        } else if let Some((name, value)) = line.split_once(':') {
            key = name.trim();
            add(&mut matter, key, value);
        }
    }
    matter
}

fn add(matter: &mut FrontMatter, key: &str, value: &str) {
    let value = value.trim().trim_start_matches('[').trim_end_matches(']');
    match key {
        "description" => unquoted(value).clone_into(&mut matter.description),
        "status" => unquoted(value).clone_into(&mut matter.status),
        "globs" | "paths" | "applyTo" => {
            let globs = split_globs(value).into_iter().map(unquoted);
            matter.globs.extend(globs.filter(|glob| !glob.is_empty()).map(str::to_owned));
        }
        _ => {}
    }
}

/// Splits at commas outside of braces: `src/**/*.{ts,tsx}` is one glob.
fn split_globs(value: &str) -> Vec<&str> {
    let (mut globs, mut start, mut depth) = (Vec::new(), 0, 0_i32);
    for (at, c) in value.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth <= 0 => {
                globs.push(&value[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    globs.push(&value[start..]);
    globs
}

fn unquoted(value: &str) -> &str {
    value.trim().trim_matches(['"', '\''])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_front_matter_has_description_and_globs() {
        let text = "---\ndescription: \"Tests\"\nglobs: *.ts, src/**/*.{ts,tsx}\nalwaysApply: \
                    false\n---\nText\n";
        let (matter, rest, lines) = split(text);
        assert_eq!(matter.description, "Tests");
        assert_eq!(matter.globs, ["*.ts", "src/**/*.{ts,tsx}"]);
        assert_eq!((rest, lines), ("Text\n", 5));
        let (matter, ..) = split("---\npaths:\n  - \"a/**\"\n  - b/*.rs\n---\n");
        assert_eq!(matter.globs, ["a/**", "b/*.rs"]);
        let (matter, ..) = split("---\nglobs: [\"a/**\", 'b']\n---\n");
        assert_eq!(matter.globs, ["a/**", "b"]);
    }

    #[test]
    fn text_without_front_matter_is_unchanged() {
        for text in ["# Title\n", "---\nnever closed", "", "text\n---\na: b\n---\n"] {
            assert_eq!(split(text), (FrontMatter::default(), text, 0));
        }
    }
}
