//! Requests to the model that answers: the same question without and with the bundle.

use std::sync::LazyLock;

use mc_chat::{ChatModel, ChatRequest, Completion, Content, Usage};
use mc_prompt_guard::neutralize;
use mc_sanitizer::{Sanitized, mask};

use super::questions::Question;

static INSTRUCTIONS: LazyLock<Sanitized> =
    LazyLock::new(|| mask(include_str!("../../../../../../system_prompts/help_answer.txt")).text);

/// Requests an answer, and adds its tokens to `usage`. `bundle` is the text of a recall, in which
/// the renderer has marked what others wrote as data.
pub async fn answer(
    writer: &ChatModel,
    question: &Question,
    bundle: Option<&str>,
    usage: &mut Usage,
) -> Result<String, String> {
    let completion = writer.complete(&request(question, bundle)).await;
    let spent = completion.as_ref().map_or_else(|failure| failure.usage, |answer| answer.usage);
    *usage = *usage + spent;
    match completion {
        Ok(Completion { content: Content::Text(text), .. }) => Ok(text.into_string()),
        Ok(Completion { content: Content::Json(value), .. }) => Ok(value.to_string()),
        Err(failure) => Err(failure.to_string()),
    }
}

fn request(question: &Question, bundle: Option<&str>) -> ChatRequest {
    let mut text = format!("# Question\n\n{}\n", neutralize(question.text.as_str()));
    if let Some(path) = &question.path {
        text.push_str(&format!("\nPath: {}\n", neutralize(path.as_str())));
    }
    let symbols: Vec<String> = question.symbols.clone().into_items();
    if !symbols.is_empty() {
        text.push_str(&format!("\nSymbols: {}\n", neutralize(&symbols.join(", "))));
    }
    if let Some(bundle) = bundle {
        text.push_str(&format!("\n# Team memory\n\n{bundle}\n"));
    }
    ChatRequest::new(INSTRUCTIONS.clone(), mask(&text).text).greedy()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn question() -> Question {
        let yaml = "{question: 'How long, ghp_16C7e42F292c6912E7710c838347Ae178B4a?', \
                    path: app/returns, symbols: [Returns#window], expected: [{fact: x}]}";
        serde_norway::from_str(yaml).unwrap()
    }

    #[test]
    fn requests_differ_in_the_bundle_only() {
        let texts = |bundle| {
            let request = request(&question(), bundle);
            assert_eq!(request.temperature, Some(0.0));
            [0, 1].map(|message| request.messages[message].text.as_str().to_owned())
        };
        let ([first, without], [second, with]) = (texts(None), texts(Some("a bundle")));
        assert_eq!(first, second);
        assert_eq!(with, format!("{without}\n# Team memory\n\na bundle\n"));
        assert!(without.contains("[secret:github-token]"), "{without}");
        assert!(without.contains("Path: app/returns\n\nSymbols: Returns#window\n"), "{without}");
    }
}
