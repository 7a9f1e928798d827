use proptest::prelude::*;

use super::*;
use crate::text::normalize;

mod languages;

fn chunk_file(language: &str, text: &str, limits: Limits) -> ChunkedFile {
    cut("src/file", language, text, limits)
}

fn without_last_newline(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}

/// Restores the text of a file from its chunks.
fn join(chunks: &[Chunk]) -> String {
    let mut text = String::new();
    let mut last_line = 0;
    for chunk in chunks {
        let continues = chunk.overlap_lines == 0 && chunk.line_start == last_line;
        if chunk.index > 0 && !continues {
            text.push('\n');
        }
        let new = chunk.text.splitn(chunk.overlap_lines + 1, '\n').last().unwrap_or_default();
        text.push_str(new);
        last_line = chunk.line_end;
    }
    text
}

/// Checks the invariants of the chunker.
fn check(language: &str, text: &str, limits: Limits) -> ChunkedFile {
    let cut = chunk_file(language, text, limits);
    assert_eq!(join(&cut.chunks), without_last_newline(text), "no line is lost or repeated");
    for (index, chunk) in cut.chunks.iter().enumerate() {
        assert_eq!(chunk.index, index);
        assert!(chunk.text.len() <= limits.bytes.max(4), "{} bytes", chunk.text.len());
        assert!(chunk.line_start <= chunk.line_end && chunk.line_end <= cut.line_count);
        assert_eq!(chunk.text.split('\n').count(), chunk.line_end - chunk.line_start + 1);
        assert!(chunk.line_end - chunk.line_start < limits.lines);
        assert!(chunk.line_end - chunk.line_start >= chunk.overlap_lines);
        assert!(chunk.summary.chars().count() <= 160);
    }
    for symbol in &cut.symbols {
        assert!(1 <= symbol.line_start && symbol.line_start <= symbol.line_end);
        assert!(symbol.line_end <= cut.line_count);
    }
    cut
}

/// Generates text like broken code: nested and incomplete, with long and unusual lines.
fn source() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => "[ \t]{0,8}(class|def|fn|function|if|end|module|impl|//|#|/\\*|\"\"\")? \
             ?[A-Za-z_]{0,8}[(){};:<>]{0,3}",
        2 => "[{}()\\[\\]]{0,6}",
        1 => "\\PC{0,40}",
        1 => "[a-z\u{e9}\u{1f600} ]{0,120}",
        2 => Just(String::new()),
    ];
    prop::collection::vec(line, 0..60).prop_map(|lines| normalize(&lines.join("\n")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn joined_chunks_are_the_text(
        text in source(),
        language in prop::sample::select([LANGUAGES, &["sql", "text"]].concat()),
        bytes in 16_usize..200,
        lines in 4_usize..20,
        overlap in 0_usize..4,
    ) {
        // The scanner for bash calls `isdigit` with any character, which reads outside of its
        // table. The service parses in child processes, so only those can crash.
        let text = if language == "bash" { text.replace(|c| c > '\u{ff}', "") } else { text };
        check(language, &text, Limits { bytes, lines, overlap });
    }
}

#[test]
fn empty_file_has_no_chunk() {
    assert!(check("ruby", "", Limits::default()).chunks.is_empty());
}

#[test]
fn equal_chunks_of_two_files_differ_in_their_span_hash() {
    let a = cut("a.rb", "ruby", "x = 1\n", Limits::default());
    let b = cut("b.rb", "ruby", "x = 1\n", Limits::default());
    assert_eq!(a.chunks[0].chunk_hash, b.chunks[0].chunk_hash);
    assert_ne!(a.chunks[0].span_hash, b.chunks[0].span_hash);
}

/// The scanner of Kotlin looks for the end of a string from each error on.
#[test]
fn code_that_is_read_too_often_is_split_by_lines() {
    let function = "fun slow() {}\n";
    assert_eq!(check("kotlin", function, Limits::default()).symbols.len(), 1);
    // The reads may end within the characters of several bytes.
    for end in ["", "密"] {
        let text = format!("{function}{}{}", "password=".repeat(1_000), end.repeat(3_000));
        assert_eq!(check("kotlin", &text, Limits::default()).symbols, [], "{end}");
    }
}

#[test]
fn long_line_is_split_into_chunks_of_one_line() {
    let text = format!("short\n{}\nend", "\u{fc}ber ".repeat(1000));
    let cut = check("javascript", &text, Limits::default());
    let on_second: Vec<_> = cut.chunks.iter().filter(|chunk| chunk.line_start == 2).collect();
    assert!(on_second.len() > 2);
    assert!(on_second.iter().all(|chunk| chunk.line_end == 2 && chunk.overlap_lines == 0));
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    for language in LANGUAGES {
        for (open, close) in [
            ("(", ")"),
            ("[", "]"),
            ("{\n", "}\n"),
            ("class A {\n", "}\n"),
            ("if a then\n", "end\n"),
        ] {
            let text = format!("{}{}", open.repeat(5_000), close.repeat(5_000));
            check(language, &text, Limits::default());
        }
    }
}

#[test]
fn broken_code_still_has_symbols() {
    let text = "def fine\n  1\nend\n\ndef broken(\n  {{{\n";
    let cut = check("ruby", text, Limits::default());
    assert_eq!(cut.symbols[0].name, "fine");
}

fn method(name: &str, lines: usize) -> String {
    let body: String = (0..lines).map(|n| format!("      value_{n} = compute({n})\n")).collect();
    format!("    # Says what {name} does.\n    def {name}\n{body}    end\n\n")
}

#[test]
fn small_methods_share_a_chunk_and_are_not_cut() {
    let methods: String = (0..40).map(|n| method(&format!("small_{n}"), 6)).collect();
    let text = format!("module A\n  class B\n{methods}  end\nend\n");
    let cut = check("ruby", &text, Limits::default());
    assert!(cut.chunks.iter().all(|chunk| chunk.overlap_lines == 0), "no definition is cut");
    for chunk in &cut.chunks[1..cut.chunks.len() - 1] {
        assert!(chunk.text.len() > 1500, "{} bytes", chunk.text.len());
        assert_eq!(chunk.parent_symbol.as_deref(), Some("A::B"));
        assert!(
            chunk.text.starts_with("    # Says what"),
            "the comment is in the chunk of its method"
        );
        assert!(chunk.text.trim_end().ends_with("end"));
    }
}

#[test]
fn large_method_is_cut_with_overlap_and_keeps_its_name() {
    let text = format!("module A\n  class B\n{}  end\nend\n", method("large", 300));
    let cut = check("ruby", &text, Limits::default());
    assert!(cut.chunks[0].text.len() > 1024, "the headers are in the chunk of the method's start");
    let inner = &cut.chunks[2];
    assert_eq!(inner.overlap_lines, 3);
    assert_eq!(inner.parent_symbol.as_deref(), Some("A::B#large"));
    assert!(inner.symbols.is_empty());
    assert_eq!(cut.chunks[0].symbols, ["A", "A::B", "A::B#large"]);
    assert!(inner.summary.starts_with("A::B#large: value_"), "{}", inner.summary);
}

#[test]
fn chunker_is_deterministic() {
    let text: String = (0..30).map(|n| method(&format!("m{n}"), n)).collect();
    assert_eq!(
        chunk_file("ruby", &text, Limits::default()),
        chunk_file("ruby", &text, Limits::default())
    );
}

#[test]
fn text_without_a_grammar_is_cut_between_paragraphs() {
    let table = |n| format!("create table t{n} (\n  id int primary key,\n  name text\n);\n\n");
    let text: String = (0..100).map(table).collect();
    let cut = check("sql", &text, Limits::default());
    assert!(cut.chunks.len() > 2);
    assert!(cut.chunks.iter().all(|chunk| chunk.text.starts_with("create table")));
}
