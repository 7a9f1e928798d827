//! Prompts with fixed words.

use rmcp::ErrorData;
use rmcp::model::{
    ContentBlock, GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage,
    ResourceContents, Role,
};
use serde_json::Value;

use crate::changes::Versions;
use crate::dialogs;
use crate::samples::PNG;

pub fn listed(versions: Versions) -> Vec<Prompt> {
    let mut prompts = vec![
        prompt("test_simple_prompt", "A prompt without arguments", &[]),
        prompt("test_prompt_with_arguments", "A prompt with arguments", &["arg1", "arg2"]),
        prompt("test_prompt_with_embedded_resource", "A prompt with a resource", &["resourceUri"]),
        prompt("test_prompt_with_image", "A prompt with an image", &[]),
        prompt(dialogs::PROMPT.name, "A prompt that asks first", &[]),
    ];
    if versions.prompts % 2 == 1 {
        prompts.push(prompt("test_changing_prompt", "Here after every other change", &[]));
    }
    prompts
}

fn prompt(name: &str, description: &str, arguments: &[&str]) -> Prompt {
    let arguments = arguments.iter().map(|name| {
        PromptArgument::new(*name).with_description("A test argument").with_required(true)
    });
    Prompt::new(name, Some(description), Some(arguments.collect()))
}

pub fn get(name: &str, arguments: &JsonObject) -> Result<GetPromptResult, ErrorData> {
    let contents = match name {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let (first, second) = (argument(arguments, "arg1")?, argument(arguments, "arg2")?);
            vec![text(&format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
        }
        "test_prompt_with_embedded_resource" => {
            let uri = argument(arguments, "resourceUri")?;
            let resource = ResourceContents::text("Embedded resource content for testing.", uri);
            vec![
                ContentBlock::resource(resource.with_mime_type("text/plain")),
                text("Please process the embedded resource above."),
            ]
        }
        "test_prompt_with_image" => {
            vec![ContentBlock::image(PNG, "image/png"), text("Please analyze the image above.")]
        }
        "test_changing_prompt" => vec![text("Here for now.")],
        _ => return Err(ErrorData::invalid_params(format!("unknown prompt {name}"), None)),
    };
    Ok(of(contents))
}

/// A prompt of these contents, all said by the user.
pub fn of(contents: Vec<ContentBlock>) -> GetPromptResult {
    let say = |content| PromptMessage::new(Role::User, content);
    GetPromptResult::new(contents.into_iter().map(say).collect())
}

fn text(text: &str) -> ContentBlock {
    ContentBlock::text(text)
}

fn argument<'a>(arguments: &'a JsonObject, name: &str) -> Result<&'a str, ErrorData> {
    let missing = || ErrorData::invalid_params(format!("the argument {name} is missing"), None);
    arguments.get(name).and_then(Value::as_str).ok_or_else(missing)
}
