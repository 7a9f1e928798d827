//! Language of a file.

use strsim::levenshtein;

/// Languages with the keys by which they are found, in lower case.
type Table = &'static [(&'static str, &'static [&'static str])];

/// Languages by file name.
const BY_NAME: Table = &[
    ("dockerfile", &["dockerfile", "containerfile"]),
    ("make", &["makefile", "gnumakefile"]),
    ("cmake", &["cmakelists.txt"]),
    (
        "ruby",
        &["rakefile", "gemfile", "guardfile", "capfile", "vagrantfile", "podfile", "brewfile"],
    ),
    ("groovy", &["jenkinsfile"]),
    ("starlark", &["build", "workspace"]),
    ("bash", &[".bashrc", ".bash_profile", ".profile", "pkgbuild"]),
];

/// Languages by extension.
const BY_EXTENSION: Table = &[
    ("rust", &["rs"]),
    ("ruby", &["rb", "rake", "gemspec", "ru", "jbuilder"]),
    ("python", &["py", "pyi", "pyw"]),
    ("javascript", &["js", "jsx", "mjs", "cjs"]),
    ("typescript", &["ts", "mts", "cts"]),
    ("c", &["c", "h"]),
    ("cpp", &["cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "h++", "ipp", "inl", "cu", "cuh"]),
    ("csharp", &["cs", "csx"]),
    ("php", &["php", "phtml", "inc"]),
    ("kotlin", &["kt", "kts"]),
    ("bash", &["sh", "bash", "bats", "zsh", "ksh"]),
    ("markdown", &["md", "markdown", "mdx", "mdc"]),
    ("asciidoc", &["adoc"]),
    ("text", &["txt"]),
    ("latex", &["tex"]),
    ("html", &["html", "htm", "xhtml"]),
    ("json", &["json", "json5", "jsonc"]),
    ("yaml", &["yaml", "yml"]),
    ("ini", &["ini", "cfg", "conf", "properties"]),
    ("csv", &["csv", "tsv"]),
    ("make", &["mk"]),
    ("groovy", &["gradle", "groovy"]),
    ("objective-c", &["m", "mm"]),
    ("perl", &["pl", "pm"]),
    ("julia", &["jl"]),
    ("elixir", &["ex", "exs"]),
    ("erlang", &["erl", "hrl"]),
    ("clojure", &["clj", "cljs"]),
    ("haskell", &["hs"]),
    ("ocaml", &["ml", "mli"]),
    ("fsharp", &["fs"]),
    ("visual-basic", &["vb"]),
    ("powershell", &["ps1", "psm1"]),
    ("batch", &["bat", "cmd"]),
    ("emacs-lisp", &["el"]),
    ("assembly", &["asm", "s"]),
    ("hcl", &["tf", "hcl"]),
    ("protobuf", &["proto"]),
    ("graphql", &["graphql", "gql"]),
    ("starlark", &["bzl"]),
    ("solidity", &["sol"]),
    ("template", &["tpl", "j2", "jinja", "hbs", "liquid"]),
];

/// Languages whose only extension is their name.
const EXTENSIONS: &[&str] = &[
    "tsx", "go", "java", "erb", "sql", "rst", "org", "xml", "svg", "css", "scss", "sass", "less",
    "vue", "svelte", "haml", "slim", "jsonl", "toml", "cmake", "scala", "swift", "dart", "lua",
    "r", "fish", "vim", "lisp", "zig", "nim", "d",
];

/// Languages by interpreter in a `#!` line.
const BY_INTERPRETER: Table = &[
    ("bash", &["bash", "sh", "dash", "zsh", "ksh"]),
    ("python", &["python"]),
    ("ruby", &["ruby"]),
    ("javascript", &["node", "nodejs"]),
    ("typescript", &["deno", "bun"]),
    ("php", &["php"]),
    ("perl", &["perl"]),
    ("lua", &["lua"]),
    ("fish", &["fish"]),
];

/// Other names of languages.
const ALIASES: Table = &[
    ("go", &["golang"]),
    ("csharp", &["c#", "c-sharp", "dotnet"]),
    ("fsharp", &["f#"]),
    ("cpp", &["cplusplus", "c plus plus"]),
    ("bash", &["shell", "shellscript", "posix"]),
    ("javascript", &["nodejs", "node", "ecmascript", "javascriptreact"]),
    ("tsx", &["typescriptreact"]),
    ("python", &["python3"]),
    ("rust", &["rustlang"]),
    ("objective-c", &["objc", "objectivec", "objective c"]),
    ("dockerfile", &["docker"]),
    ("hcl", &["terraform"]),
    ("protobuf", &["protocol buffers"]),
    ("rst", &["restructuredtext"]),
    ("text", &["plaintext", "plain"]),
    ("visual-basic", &["visual basic"]),
    ("make", &["makefile"]),
    ("starlark", &["bazel"]),
    ("template", &["jinja2"]),
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

/// Finds a language by name, alias or extension (`ts`, `.rs`, `*.kt`, `golang`), ignoring case.
pub fn from_name(word: &str) -> Result<&'static str, UnknownLanguage> {
    let lower = word.trim().to_lowercase();
    let word = lower.trim_start_matches('*').trim_start_matches('.');
    // Names take precedence over extensions.
    let by_name = all().find(|name| *name == word);
    let found = by_name
        .or_else(|| by_extension(word))
        .or_else(|| find(ALIASES, word))
        .or_else(|| find(BY_INTERPRETER, word))
        .or_else(|| find(BY_NAME, word));
    found.ok_or_else(|| UnknownLanguage { similar: similar(word) })
}

/// Returns all languages, some several times.
pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    let tables = BY_EXTENSION.iter().chain(BY_NAME).chain(BY_INTERPRETER);
    tables.map(|(language, _)| language).chain(EXTENSIONS).copied()
}

/// Returns the languages with similar names, most similar first. A name is similar if it starts
/// like the word, or if at most a third of its letters differ.
fn similar(word: &str) -> Vec<&'static str> {
    let aliases = ALIASES
        .iter()
        .flat_map(|(language, names)| names.iter().map(move |name| (*name, *language)));
    let names = all().map(|name| (name, name)).chain(aliases);
    // No language has a longer name, and the time grows with the length.
    let beginning: String = word.chars().take(40).collect();
    let mut found: Vec<(usize, &'static str)> = names
        .filter_map(|(name, language)| {
            let has_same_start = word.len() >= 2
                && (name.starts_with(word) || word.starts_with(name) && name.len() > 2);
            let distance = levenshtein(&beginning, name);
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

/// Returns the language of the file at `path` with this text; `text` if it is unknown.
pub fn detect(path: &str, text: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let language = find(BY_NAME, &name)
        .or_else(|| name.rsplit_once('.').and_then(|(_, ext)| by_extension(ext)))
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

fn find(table: Table, key: &str) -> Option<&'static str> {
    table.iter().find(|(_, keys)| keys.contains(&key)).map(|(language, _)| *language)
}

fn by_extension(extension: &str) -> Option<&'static str> {
    let is_name = |name: &&str| *name == extension;
    find(BY_EXTENSION, extension).or_else(|| EXTENSIONS.iter().copied().find(is_name))
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

    use super::{detect, from_name, levenshtein};

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
            (levenshtein("", "abc"), levenshtein("abc", "abc"), levenshtein("abd", "acd")),
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
