//! Language of a file.

/// Languages by file name.
const BY_NAME: &[(&str, &str)] = &[
    ("dockerfile", "dockerfile"),
    ("containerfile", "dockerfile"),
    ("makefile", "make"),
    ("gnumakefile", "make"),
    ("cmakelists.txt", "cmake"),
    ("rakefile", "ruby"),
    ("gemfile", "ruby"),
    ("guardfile", "ruby"),
    ("capfile", "ruby"),
    ("vagrantfile", "ruby"),
    ("podfile", "ruby"),
    ("brewfile", "ruby"),
    ("jenkinsfile", "groovy"),
    ("build", "starlark"),
    ("workspace", "starlark"),
    (".bashrc", "bash"),
    (".bash_profile", "bash"),
    (".profile", "bash"),
    ("pkgbuild", "bash"),
];

/// Languages by extension, in lower case.
const BY_EXTENSION: &[(&str, &str)] = &[
    ("rs", "rust"),
    ("rb", "ruby"),
    ("rake", "ruby"),
    ("gemspec", "ruby"),
    ("ru", "ruby"),
    ("jbuilder", "ruby"),
    ("py", "python"),
    ("pyi", "python"),
    ("pyw", "python"),
    ("js", "javascript"),
    ("jsx", "javascript"),
    ("mjs", "javascript"),
    ("cjs", "javascript"),
    ("ts", "typescript"),
    ("mts", "typescript"),
    ("cts", "typescript"),
    ("tsx", "tsx"),
    ("go", "go"),
    ("java", "java"),
    ("c", "c"),
    ("h", "c"),
    ("cc", "cpp"),
    ("cpp", "cpp"),
    ("cxx", "cpp"),
    ("c++", "cpp"),
    ("hh", "cpp"),
    ("hpp", "cpp"),
    ("hxx", "cpp"),
    ("h++", "cpp"),
    ("ipp", "cpp"),
    ("inl", "cpp"),
    ("cu", "cpp"),
    ("cuh", "cpp"),
    ("cs", "csharp"),
    ("csx", "csharp"),
    ("php", "php"),
    ("phtml", "php"),
    ("inc", "php"),
    ("kt", "kotlin"),
    ("kts", "kotlin"),
    ("sh", "bash"),
    ("bash", "bash"),
    ("bats", "bash"),
    ("zsh", "bash"),
    ("ksh", "bash"),
    ("erb", "erb"),
    ("sql", "sql"),
    ("md", "markdown"),
    ("markdown", "markdown"),
    ("mdx", "markdown"),
    ("mdc", "markdown"),
    ("rst", "rst"),
    ("adoc", "asciidoc"),
    ("org", "org"),
    ("txt", "text"),
    ("tex", "latex"),
    ("html", "html"),
    ("htm", "html"),
    ("xhtml", "html"),
    ("xml", "xml"),
    ("svg", "svg"),
    ("css", "css"),
    ("scss", "scss"),
    ("sass", "sass"),
    ("less", "less"),
    ("vue", "vue"),
    ("svelte", "svelte"),
    ("haml", "haml"),
    ("slim", "slim"),
    ("json", "json"),
    ("json5", "json"),
    ("jsonc", "json"),
    ("jsonl", "jsonl"),
    ("yaml", "yaml"),
    ("yml", "yaml"),
    ("toml", "toml"),
    ("ini", "ini"),
    ("cfg", "ini"),
    ("conf", "ini"),
    ("properties", "ini"),
    ("csv", "csv"),
    ("tsv", "csv"),
    ("mk", "make"),
    ("cmake", "cmake"),
    ("gradle", "groovy"),
    ("groovy", "groovy"),
    ("scala", "scala"),
    ("swift", "swift"),
    ("m", "objective-c"),
    ("mm", "objective-c"),
    ("dart", "dart"),
    ("lua", "lua"),
    ("pl", "perl"),
    ("pm", "perl"),
    ("r", "r"),
    ("jl", "julia"),
    ("ex", "elixir"),
    ("exs", "elixir"),
    ("erl", "erlang"),
    ("hrl", "erlang"),
    ("clj", "clojure"),
    ("cljs", "clojure"),
    ("hs", "haskell"),
    ("ml", "ocaml"),
    ("mli", "ocaml"),
    ("fs", "fsharp"),
    ("vb", "visual-basic"),
    ("ps1", "powershell"),
    ("psm1", "powershell"),
    ("bat", "batch"),
    ("cmd", "batch"),
    ("fish", "fish"),
    ("vim", "vim"),
    ("el", "emacs-lisp"),
    ("lisp", "lisp"),
    ("zig", "zig"),
    ("nim", "nim"),
    ("d", "d"),
    ("asm", "assembly"),
    ("s", "assembly"),
    ("tf", "hcl"),
    ("hcl", "hcl"),
    ("proto", "protobuf"),
    ("graphql", "graphql"),
    ("gql", "graphql"),
    ("bzl", "starlark"),
    ("sol", "solidity"),
    ("tpl", "template"),
    ("j2", "template"),
    ("jinja", "template"),
    ("hbs", "template"),
    ("liquid", "template"),
];

/// Languages by interpreter in a `#!` line.
const BY_INTERPRETER: &[(&str, &str)] = &[
    ("bash", "bash"),
    ("sh", "bash"),
    ("dash", "bash"),
    ("zsh", "bash"),
    ("ksh", "bash"),
    ("python", "python"),
    ("ruby", "ruby"),
    ("node", "javascript"),
    ("nodejs", "javascript"),
    ("deno", "typescript"),
    ("bun", "typescript"),
    ("php", "php"),
    ("perl", "perl"),
    ("lua", "lua"),
    ("fish", "fish"),
];

/// Other names of languages.
const ALIASES: &[(&str, &str)] = &[
    ("golang", "go"),
    ("c#", "csharp"),
    ("c-sharp", "csharp"),
    ("dotnet", "csharp"),
    ("f#", "fsharp"),
    ("cplusplus", "cpp"),
    ("c plus plus", "cpp"),
    ("shell", "bash"),
    ("shellscript", "bash"),
    ("posix", "bash"),
    ("nodejs", "javascript"),
    ("node", "javascript"),
    ("ecmascript", "javascript"),
    ("javascriptreact", "javascript"),
    ("typescriptreact", "tsx"),
    ("python3", "python"),
    ("rustlang", "rust"),
    ("objc", "objective-c"),
    ("objectivec", "objective-c"),
    ("objective c", "objective-c"),
    ("docker", "dockerfile"),
    ("terraform", "hcl"),
    ("protocol buffers", "protobuf"),
    ("restructuredtext", "rst"),
    ("plaintext", "text"),
    ("plain", "text"),
    ("visual basic", "visual-basic"),
    ("makefile", "make"),
    ("bazel", "starlark"),
    ("jinja2", "template"),
];

/// Maximum number of similar languages in an error.
const SIMILAR_MAX: usize = 5;

/// Error for the name of an unknown language, with similar names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown language; {}", advice(similar))]
pub struct UnknownLanguage {
    /// Languages with similar names, most similar first.
    pub similar: Vec<&'static str>,
}

fn advice(similar: &[&str]) -> String {
    match similar {
        [] => "use a name such as rust, go or typescript, or an extension such as .rs".to_owned(),
        similar => format!("similar names are {}", similar.join(", ")),
    }
}

/// Finds a language by its name, an alias or an extension (`ts`, `.rs`, `*.kt`, `golang`, `c++`),
/// ignoring case.
pub fn from_name(word: &str) -> Result<&'static str, UnknownLanguage> {
    let lower = word.trim().to_lowercase();
    let word = lower.trim_start_matches('*').trim_start_matches('.');
    // Names take precedence over extensions.
    let by_name = languages().find(|name| *name == word);
    let found = by_name
        .or_else(|| find(BY_EXTENSION, word))
        .or_else(|| find(ALIASES, word))
        .or_else(|| find(BY_INTERPRETER, word))
        .or_else(|| find(BY_NAME, word));
    found.ok_or_else(|| UnknownLanguage { similar: similar(word) })
}

/// Returns all languages, some several times.
fn languages() -> impl Iterator<Item = &'static str> {
    BY_EXTENSION.iter().chain(BY_NAME).chain(BY_INTERPRETER).map(|(_, language)| *language)
}

/// Returns the languages with similar names, most similar first. A name is similar if it starts
/// like the word, or if at most a third of its letters differ.
fn similar(word: &str) -> Vec<&'static str> {
    let names = languages().map(|name| (name, name)).chain(ALIASES.iter().copied());
    let mut found: Vec<(usize, &'static str)> = names
        .filter_map(|(name, language)| {
            let has_same_start = word.len() >= 2
                && (name.starts_with(word) || word.starts_with(name) && name.len() > 2);
            let distance = edit_distance(word, name);
            let is_similar = has_same_start || distance <= name.chars().count().div_ceil(3).min(3);
            let rank = if has_same_start { distance.min(1) } else { distance };
            is_similar.then_some((rank, language))
        })
        .collect();
    found.sort_unstable();
    let mut similar: Vec<&'static str> = Vec::new();
    for (_, language) in found {
        if !similar.contains(&language) {
            similar.push(language);
        }
    }
    similar.truncate(SIMILAR_MAX);
    similar
}

/// Returns the Levenshtein distance of two words.
fn edit_distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    // No language has a longer name.
    for (i, a) in one.chars().take(40).enumerate() {
        let mut above_left = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in other.iter().enumerate() {
            let changed = above_left + usize::from(a != *b);
            above_left = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(above_left + 1);
        }
    }
    row[other.len()]
}

/// Returns the language of the file at `path` (`/`-separated) with this text, in lower case; `text`
/// if it is unknown.
pub fn detect(path: &str, text: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let language = find(BY_NAME, &name)
        .or_else(|| name.rsplit_once('.').and_then(|(_, ext)| find(BY_EXTENSION, ext)))
        .or_else(|| by_shebang(text));
    match language {
        Some("c")
            if name.rsplit_once('.').is_some_and(|(_, ext)| ext == "h") && looks_like_cpp(text) =>
        {
            "cpp"
        }
        Some(language) => language,
        None if name.starts_with("dockerfile.") => "dockerfile",
        None => "text",
    }
}

/// Languages of prose, data and settings.
const NOT_CODE: &[&str] = &[
    "asciidoc", "csv", "html", "ini", "json", "jsonl", "latex", "markdown", "org", "rst", "svg",
    "text", "toml", "xml", "yaml",
];

/// Returns whether a file with this name is code, rather than prose, data or settings.
pub fn is_code(path: &str) -> bool {
    !NOT_CODE.contains(&detect(path, ""))
}

fn find(table: &[(&str, &'static str)], key: &str) -> Option<&'static str> {
    table.iter().find(|(k, _)| *k == key).map(|(_, language)| *language)
}

fn by_shebang(text: &str) -> Option<&'static str> {
    let line = text.strip_prefix("#!")?.lines().next()?;
    let mut words = line.split_whitespace();
    let program = words.next()?.rsplit('/').next()?;
    let program = if program == "env" {
        words.find(|word| !word.starts_with('-') && !word.contains('='))?.rsplit('/').next()?
    } else {
        program
    };
    // `python3.12` is python.
    find(BY_INTERPRETER, program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))
}

/// Returns whether a `.h` file is C++: a line starts with a keyword that C does not have.
fn looks_like_cpp(text: &str) -> bool {
    const OPENINGS: &[&str] = &[
        "class ",
        "namespace ",
        "template<",
        "template <",
        "using ",
        "public:",
        "private:",
        "protected:",
    ];
    text.lines().any(|line| OPENINGS.iter().any(|opening| line.trim_start().starts_with(opening)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{detect, edit_distance, from_name};

    #[test]
    fn language_is_found_by_name_alias_or_extension() {
        for (word, language) in [
            ("rust", "rust"),
            ("Rust", "rust"),
            (".rs", "rust"),
            ("rs", "rust"),
            ("*.kt", "kotlin"),
            ("ts", "typescript"),
            ("tsx", "tsx"),
            ("golang", "go"),
            ("C++", "cpp"),
            ("c#", "csharp"),
            ("c", "c"),
            ("h", "c"),
            ("py", "python"),
            ("shell", "bash"),
            ("yml", "yaml"),
            ("dockerfile", "dockerfile"),
            ("markdown", "markdown"),
        ] {
            assert_eq!(from_name(word), Ok(language), "{word}");
        }
    }

    #[test]
    fn unknown_language_is_rejected_with_similar_names() {
        for (word, similar) in
            [("typscript", "typescript"), ("pyhton", "python"), ("jav", "java"), ("golan", "go")]
        {
            let error = from_name(word).unwrap_err();
            assert!(error.similar.contains(&similar), "{word}: {error}");
        }
        let error = from_name("klingon-dialect").unwrap_err();
        assert!(error.to_string().contains("such as rust"), "{error}");
        assert!(from_name("").is_err());
        assert_eq!(
            (edit_distance("", "abc"), edit_distance("abc", "abc"), edit_distance("abd", "acd")),
            (3, 0, 1)
        );
    }

    #[test]
    fn file_name_takes_precedence_over_extension_and_shebang() {
        for (path, text, language) in [
            ("app/models/setting.rb", "", "ruby"),
            ("Rakefile", "", "ruby"),
            ("lib/tasks/sync.RAKE", "", "ruby"),
            ("app/views/show.html.erb", "", "erb"),
            ("db/structure.sql", "", "sql"),
            ("src/App.tsx", "", "tsx"),
            ("bin/run", "#!/usr/bin/env -S LANG=C python3.12 -u\n", "python"),
            ("bin/setup", "#!/bin/sh\n", "bash"),
            ("include/a.h", "int f(void);\n", "c"),
            ("include/b.h", "#pragma once\nnamespace a {\n}\n", "cpp"),
            ("Dockerfile.dev", "", "dockerfile"),
            ("LICENSE", "Apache License", "text"),
            ("weird.", "", "text"),
        ] {
            assert_eq!(detect(path, text), language, "{path}");
        }
    }
}
