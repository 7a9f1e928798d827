use super::*;

fn prompt() -> Prompt {
    Prompt::new(
        vec![
            Item::new("tests", "Run the tests before you finish."),
            Item::new("scope", "Change only the files of the task.\nAsk before a larger change."),
        ],
        vec![Item::new("retry", "Task: retry a webhook.\nAnswer: use the existing backoff.")],
    )
    .expect("a valid prompt")
}

#[test]
fn a_prompt_is_rendered_as_a_list_and_examples() {
    let text = "- Run the tests before you finish.\n\
                - Change only the files of the task.\n  Ask before a larger change.\n\
                \n\
                Example 1:\nTask: retry a webhook.\nAnswer: use the existing backoff.\n";
    assert_eq!(prompt().render(), text);
    assert_eq!(Prompt::default().render(), "");
}

#[test]
fn a_file_is_readable_and_keeps_its_order() {
    let file = PromptFile {
        project: "billing".to_owned(),
        version: 7,
        date: "2026-11-29".to_owned(),
        parent: Some(6),
        diff: Prompt::default().diff(&prompt()),
        quality: Quality {
            label: QualityLabel::BetterOffline,
            gain: Some(0.12),
            interval: Some((0.05, 0.19)),
        },
        prompt: prompt(),
    };
    let yaml = "\
project: billing
version: 7
date: 2026-11-29
parent: 6
quality:
  label: better_offline
  gain: 0.12
  interval:
  - 0.05
  - 0.19
diff: |
  @@ -1,2 +1,7 @@
   instructions:
  +[tests] Run the tests before you finish.
  +[scope] Change only the files of the task.
  +  Ask before a larger change.
   examples:
  +[retry] Task: retry a webhook.
  +  Answer: use the existing backoff.
prompt:
  instructions:
  - id: tests
    text: Run the tests before you finish.
  - id: scope
    text: |-
      Change only the files of the task.
      Ask before a larger change.
  examples:
  - id: retry
    text: |-
      Task: retry a webhook.
      Answer: use the existing backoff.
";
    assert_eq!(file.to_yaml().as_deref(), Ok(yaml));
    assert_eq!(PromptFile::from_yaml(yaml), Ok(file));
}

#[test]
fn a_file_with_a_duplicate_or_an_unknown_field_is_refused() {
    let head = "project: p\nversion: 1\ndate: 2026-11-29\nquality:\n  label: unmeasured\n";
    let twice = format!(
        "{head}prompt:\n  instructions:\n  - {{id: a, text: Run tests}}\n  - {{id: a, text: x}}\n"
    );
    let unknown = format!("{head}prompt:\n  rules: []\n");
    for (yaml, reason) in [(twice, "`a` is in the prompt twice"), (unknown, "unknown field")] {
        let error = PromptFile::from_yaml(&yaml).expect_err("an invalid file").to_string();
        assert!(error.contains(reason), "{error}");
    }
    let long = "#".repeat(MAX_FILE_BYTES + 1);
    assert!(matches!(PromptFile::from_yaml(&long), Err(Error::InvalidFile { .. })));
}

#[test]
fn items_with_equal_texts_are_duplicates() {
    let items = vec![Item::new("a", "Run the tests."), Item::new("b", "run  the\nTESTS.")];
    assert_eq!(Prompt::new(items, vec![]), Err(Error::Duplicate { id: "b".to_owned() }));
}

#[test]
fn invalid_ids_and_texts_are_refused() {
    for id in ["", "A", "a b", &"a".repeat(65)] {
        let result = Prompt::new(vec![Item::new(id, "text")], vec![]);
        assert!(matches!(result, Err(Error::InvalidId { .. })), "{id}");
    }
    for text in ["", " \n", "a\u{1b}[31mb", "a\0b"] {
        let result = Prompt::new(vec![Item::new("a", text)], vec![]);
        assert!(matches!(result, Err(Error::InvalidText { .. })), "{text:?}");
    }
}

#[test]
fn a_prompt_that_is_too_long_is_refused_with_both_numbers() {
    let limits = Limits { max_tokens: 10, max_bytes: 1_000 };
    let error = limits.check(&prompt()).expect_err("too long").to_string();
    let size = prompt().size();
    assert!(error.contains(&format!("{} tokens and {} bytes", size.tokens, size.bytes)), "{error}");
    assert!(error.contains("10 tokens and 1000 bytes"), "{error}");
    assert_eq!(Limits::default().check(&prompt()), Ok(size));
}

#[test]
fn a_diff_shows_ids_and_changed_lines() {
    let before = prompt();
    let mut items = before.items(Section::Instructions).to_vec();
    items[0].text = "Run all tests.".to_owned();
    let after = before.with_items(Section::Instructions, items).expect("a valid prompt");
    let diff = before.diff(&after);
    assert!(diff.contains("-[tests] Run the tests before you finish."), "{diff}");
    assert!(diff.contains("+[tests] Run all tests."), "{diff}");
    assert_eq!(before.diff(&before), "");
}
