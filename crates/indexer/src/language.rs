//! Which language a file is written in.

/// Names without a telling extension.
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

/// Extensions, in lower case.
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

/// Interpreters in a `#!` line.
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

/// The language of the file at `path` (`/`-separated) with this text, in lower case; `text` where
/// nothing tells.
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

/// A `.h` file is C++ when a line opens with what C does not have.
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
    use super::detect;

    #[test]
    fn the_name_tells_before_the_extension_and_the_first_line() {
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
