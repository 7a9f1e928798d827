//! Text that a model reads, and the only way to hand it out.

use std::fmt::{self, Write as _};
use std::ops::Deref;

use mc_domain::UntrustedText;
use rmcp::ErrorData;
use rmcp::model::{
    ContentBlock, ErrorCode, GetPromptResult, Prompt, PromptArgument, PromptMessage, Resource,
    ResourceContents, Role,
};
use serde_json::{Number, json};

use super::CAUTION;
use super::untrusted_block::{Data, one_line};

/// MIME type of resources.
pub const MIME: &str = "text/markdown";

/// Text for a model. It consists of constants of this program, numbers, and text from outside in
/// one of two forms: a line without special tokens, or a quoted block.
///
/// The texts of results, errors and resources of this server have this type: only this file calls
/// the constructors of rmcp for them, which a test of the architecture enforces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelText(String);

impl ModelText {
    /// Creates a text from a constant.
    pub fn from_constant(constant: &'static str) -> Self {
        Self(constant.to_owned())
    }

    /// Creates a text from text from outside, on one line of at most `max_chars` characters.
    pub fn from_line(text: &str, max_chars: usize) -> Self {
        Self(one_line(text, max_chars))
    }

    /// Appends a constant.
    pub fn add(&mut self, constant: &'static str) -> &mut Self {
        self.0.push_str(constant);
        self
    }

    /// Appends a number.
    pub fn add_number(&mut self, number: impl Into<Number>) -> &mut Self {
        let _ = write!(self.0, "{}", number.into());
        self
    }

    /// Appends a number with two decimals.
    pub fn add_fraction(&mut self, number: f64) -> &mut Self {
        let _ = write!(self.0, "{number:.2}");
        self
    }

    /// Appends text from outside on one line of at most `max_chars` characters.
    pub fn add_line(&mut self, text: &str, max_chars: usize) -> &mut Self {
        self.0.push_str(&one_line(text, max_chars));
        self
    }

    /// Appends text from outside on one line of at most `max_chars` characters. It is masked,
    /// because it may repeat the request of the client.
    pub fn add_untrusted(&mut self, text: &UntrustedText, max_chars: usize) -> &mut Self {
        // Masked before it is shortened: half of a secret would not be detected.
        self.add_line(mc_sanitizer::mask(text.unrendered()).text.as_str(), max_chars)
    }

    /// Appends a label and text from outside on one line, unless that is empty.
    pub fn add_labelled(&mut self, label: &'static str, text: &str, max_chars: usize) -> &mut Self {
        let line = one_line(text, max_chars);
        if !line.is_empty() {
            self.add(label).0.push_str(&line);
        }
        self
    }

    /// Appends a block of text from outside, after a caution. The text before it says what the
    /// block is.
    pub fn add_cautioned(&mut self, data: Data) -> &mut Self {
        self.add(": ").add(CAUTION).add("\n").add_data(data)
    }

    /// Appends a block of text from outside.
    pub fn add_data(&mut self, data: Data) -> &mut Self {
        self.0.push_str(&data.delimited());
        self
    }

    /// Appends a text for a model.
    pub fn append(&mut self, text: &Self) -> &mut Self {
        self.0.push_str(&text.0);
        self
    }

    /// Returns the text as content of a tool result.
    pub fn into_block(self) -> ContentBlock {
        ContentBlock::text(self.0)
    }

    /// Returns the text as the content of a resource.
    pub fn into_contents(self, uri: String) -> ResourceContents {
        ResourceContents::text(self.0, uri).with_mime_type(MIME)
    }

    /// Returns a resource of this name.
    pub fn into_resource(self, uri: String) -> Resource {
        Resource::new(uri, self.0.clone()).with_title(self.0).with_mime_type(MIME)
    }

    /// Adds the text to a resource as its description.
    pub fn into_description_of(self, resource: Resource) -> Resource {
        resource.with_description(self.0)
    }

    /// Returns a prompt of this name.
    pub fn into_prompt(
        self,
        title: Option<Self>,
        description: Option<Self>,
        arguments: Vec<PromptArgument>,
    ) -> Prompt {
        let prompt = Prompt::new(self.0, description.map(|text| text.0), Some(arguments));
        match title {
            Some(title) => prompt.with_title(title.0),
            None => prompt,
        }
    }

    /// Returns the text as the content of a prompt, a message of the user.
    pub fn into_prompt_result(self) -> GetPromptResult {
        GetPromptResult::new(vec![PromptMessage::new_text(Role::User, self.0)])
    }

    /// Returns the error for invalid parameters of a method.
    pub fn into_invalid_params(self) -> ErrorData {
        ErrorData::invalid_params(self.0, None)
    }

    /// Returns the error for a fault of this server or the service.
    pub fn into_internal_error(self) -> ErrorData {
        ErrorData::internal_error(self.0, None)
    }

    /// Returns the error for an unknown method.
    pub fn into_method_not_found(self) -> ErrorData {
        ErrorData::new(ErrorCode::METHOD_NOT_FOUND, self.0, None)
    }

    /// Returns the error for an unknown resource. rmcp chooses the code by the client's protocol
    /// revision.
    pub fn into_resource_not_found(self, uri: &Self) -> ErrorData {
        ErrorData::resource_not_found(self.0, Some(json!({ "uri": uri.0 })))
    }
}

impl fmt::Display for ModelText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Deref for ModelText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<&str> for ModelText {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_is_one_line_without_special_tokens() {
        let mut text = ModelText::from_constant("1 result");
        text.add_labelled(", left out: ", "\u{200b} ", 9).add_labelled(
            ", cut: ",
            "a\n</s>\u{1b}[2J b",
            40,
        );
        text.add(" of ").add_number(3_u64).add(" (").add_fraction(0.5).add(")");
        assert_eq!(text, "1 result, cut: a ‹/s›\u{fffd} b of 3 (0.50)");
    }

    #[test]
    fn block_stands_after_its_caution() {
        let mut data = Data::default();
        data.text("obey\u{2028}me");
        let mut text = ModelText::from_constant("Found");
        text.add_cautioned(data);
        let start = format!("Found: {CAUTION}\n<recalled ");
        assert!(
            text.starts_with(&start) && text.contains("\n| obey\n| me\n</recalled "),
            "{text:?}"
        );
    }
}
