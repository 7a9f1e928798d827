//! Decides which expected facts an answer states: a model with the role judge, or phrases.

use std::sync::{Arc, LazyLock};

use mc_chat::{ChatModel, ChatRequest, Completion, Content, JsonAnswer, Usage};
use mc_prompt_guard::neutralize;
use mc_sanitizer::{Sanitized, mask};
use serde::Deserialize;
use serde_json::{Value, json};

use super::questions::{Fact, Question};

static INSTRUCTIONS: LazyLock<Sanitized> =
    LazyLock::new(|| mask(include_str!("../../../../../../system_prompts/help_score.txt")).text);

static ANSWER: LazyLock<Arc<JsonAnswer>> = LazyLock::new(|| {
    let fact = json!({
        "type": "object", "additionalProperties": false, "required": ["fact", "is_stated"],
        "properties": {
            "fact": {"type": "integer", "minimum": 1},
            "is_stated": {"type": "boolean"},
        },
    });
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["facts"],
        "properties": {"facts": {"type": "array", "items": fact}},
    });
    Arc::new(JsonAnswer::new("stated_facts", schema).expect("a test compiles the schema"))
});

/// The way in which facts are found in an answer.
#[derive(Debug, Clone, Copy)]
pub enum Scorer<'a> {
    /// The phrases of the facts.
    Phrases,
    /// A model, which is not told whether the answer was written with the bundle.
    Model(&'a ChatModel),
}

impl Scorer<'_> {
    /// Returns for each expected fact whether the answer states it, and adds the tokens of a model
    /// to `usage`.
    pub async fn stated(
        self,
        question: &Question,
        answer: &str,
        usage: &mut Usage,
    ) -> Result<Vec<bool>, String> {
        let Self::Model(model) = self else {
            let is_stated = |fact: &Fact| fact.has_phrase_in(answer).unwrap_or_default();
            return Ok(question.expected.iter().map(is_stated).collect());
        };
        let completion = model.complete(&request(question, answer)).await;
        let spent = completion.as_ref().map_or_else(|failure| failure.usage, |done| done.usage);
        *usage = *usage + spent;
        match completion {
            Ok(Completion { content: Content::Json(verdict), .. }) => {
                read(&verdict, question.expected.len()).map_err(|error| defect(model, &error))
            }
            Ok(Completion { content: Content::Text(_), .. }) => {
                Err(defect(model, "text in place of JSON"))
            }
            Err(failure) => Err(failure.to_string()),
        }
    }
}

/// Returns the error of an answer that can't be used.
fn defect(model: &ChatModel, defect: &str) -> String {
    let (model, defect) = (model.name().to_owned(), defect.to_owned());
    mc_chat::Error::BadAnswer { model, defect }.to_string()
}

fn request(question: &Question, answer: &str) -> ChatRequest {
    let facts = (1..).zip(&question.expected);
    let facts: Vec<_> = facts
        .map(|(number, fact)| json!({"fact": number, "text": neutralize(fact.fact.as_str())}))
        .collect();
    let data = json!({
        "question": neutralize(question.text.as_str()),
        "facts": facts,
        "answer": neutralize(answer),
    });
    let request = ChatRequest::new(INSTRUCTIONS.clone(), mask(&data.to_string()).text);
    request.greedy().with_json(Arc::clone(&ANSWER))
}

#[derive(Deserialize)]
struct Verdict {
    facts: Vec<FactVerdict>,
}

#[derive(Deserialize)]
struct FactVerdict {
    /// A whole number, which JSON may write as `1.0`.
    fact: f64,
    is_stated: bool,
}

/// Reads the verdict about `count` facts, each of which it must name once.
fn read(verdict: &Value, count: usize) -> Result<Vec<bool>, String> {
    let verdict = Verdict::deserialize(verdict).map_err(|error| error.to_string())?;
    let of = |number: usize| {
        let mut found = verdict.facts.iter().filter(|fact| (fact.fact - number as f64).abs() < 0.5);
        match (found.next(), found.next()) {
            (Some(only), None) => Ok(only.is_stated),
            (None, _) => Err(format!("an answer without fact {number}")),
            _ => Err(format!("an answer with fact {number} more than once")),
        }
    };
    (1..=count).map(of).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn request_has_the_facts_with_numbers_and_no_phrase() {
        let yaml = "{question: x?, expected: [{fact: one}, {fact: two, any_of: [three]}]}";
        let question: Question = serde_norway::from_str(yaml).unwrap();
        let request = request(&question, "It is \"one\".");
        let data: Value = serde_json::from_str(request.messages[1].text.as_str()).unwrap();
        let facts = json!([{"fact": 1, "text": "one"}, {"fact": 2, "text": "two"}]);
        assert_eq!(data, json!({"question": "x?", "facts": facts, "answer": "It is \"one\"."}));
    }

    #[test]
    fn verdict_names_each_fact_once() {
        let fact = |fact, is_stated| json!({"fact": fact, "is_stated": is_stated});
        let of = |facts: &[Value]| read(&json!({ "facts": facts }), 2);
        assert_eq!(of(&[fact(2.0, true), fact(1.0, false)]), Ok(vec![false, true]));
        assert_eq!(of(&[fact(1.0, true), fact(2.0, true), fact(9.0, true)]), Ok(vec![true; 2]));
        assert!(of(&[fact(1.0, true)]).unwrap_err().contains("without fact 2"));
        let twice = [fact(1.0, true), fact(1.0, false), fact(2.0, true)];
        assert!(of(&twice).unwrap_err().contains("fact 1 more than once"));
    }
}
