//! Rerank of the best matches by a chat model. It answers with numbers alone.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::json;

use crate::models::{ModelFailure, Models, Task, neutralized};
use crate::snippet::Snippet;

/// Matches that the model orders.
const PASSAGES_MAX: usize = 12;
/// Characters of a passage that the model sees.
const PASSAGE_CHARS: usize = 1_200;

static TASK: LazyLock<Task> = LazyLock::new(|| {
    let number = json!({"type": "integer", "minimum": 1, "maximum": PASSAGES_MAX});
    let order = json!({"type": "array", "maxItems": PASSAGES_MAX, "items": number});
    let instructions = include_str!("../prompts/rerank.txt");
    Task::of(instructions, "order", &json!({"order": order}), &["order"])
});

/// Orders the best snippets by a model. Untrusted ones are not shown to it, and keep their places.
/// Returns whether the order changed.
pub(crate) async fn rerank(
    models: &Models,
    query: &str,
    snippets: &mut [Snippet],
) -> Result<bool, ModelFailure> {
    #[derive(Deserialize)]
    struct Answer {
        order: Vec<f64>,
    }
    let trusted = snippets.iter().enumerate().filter(|(_, snippet)| snippet.is_trusted());
    let places: Vec<usize> = trusted.map(|(place, _)| place).take(PASSAGES_MAX).collect();
    let passages: Vec<_> = (1..)
        .zip(&places)
        .map(|(number, place): (usize, _)| {
            let snippet = &snippets[*place];
            let text: String = snippet.text.chars().take(PASSAGE_CHARS).collect();
            let place = neutralized(&snippet.place());
            json!({"number": number, "place": place, "text": neutralized(&text)})
        })
        .collect();
    let data = json!({"question": neutralized(query), "passages": passages});
    let Answer { order } = models.ask(&TASK, &data).await?;
    Ok(reorder(snippets, &places, numbered(&order, places.len())))
}

/// Returns the positions that numbers from 1 stand for; unknown numbers are ignored.
fn numbered(numbers: &[f64], count: usize) -> Vec<usize> {
    let position = |number: &f64| {
        let is_meant = |index: &usize| ((*index + 1) as f64 - number).abs() < 0.5;
        (0..count).find(is_meant)
    };
    numbers.iter().filter_map(position).collect()
}

/// Puts the snippets at `places` into this order of their positions in `places`. A repeated
/// position is ignored; snippets without one come last. The places keep their scores, so that the
/// list stays sorted. Returns whether the order changed.
pub(crate) fn reorder(snippets: &mut [Snippet], places: &[usize], order: Vec<usize>) -> bool {
    let mut wanted: Vec<usize> = Vec::with_capacity(places.len());
    for index in order.into_iter().chain(0..places.len()) {
        if !wanted.contains(&index) {
            wanted.push(index);
        }
    }
    let scores: Vec<f32> = places.iter().map(|place| snippets[*place].score).collect();
    let ordered: Vec<Snippet> =
        wanted.iter().map(|index| snippets[places[*index]].clone()).collect();
    for ((place, snippet), score) in places.iter().zip(ordered).zip(scores) {
        snippets[*place] = Snippet { score, ..snippet };
    }
    !wanted.is_sorted()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snippet::fixtures::{code, repository};

    fn snippets() -> Vec<Snippet> {
        let repository = repository("shop");
        [("a", 0.9), ("b", 0.8), ("c", 0.7), ("d", 0.6)]
            .map(|(path, score)| code(&repository, path, 1, "x", score))
            .into()
    }

    #[test]
    fn numbers_decide_the_order_and_places_keep_their_scores() {
        let mut snippets = snippets();
        // The second place is of a snippet that the model does not see.
        assert!(reorder(&mut snippets, &[0, 2, 3], numbered(&[3.0, 9.0, 1.0, 3.0], 3)));
        let order: Vec<_> = snippets.iter().map(|snippet| snippet.path.as_str()).collect();
        assert_eq!(order, ["d", "b", "a", "c"]);
        assert!(snippets.is_sorted_by(|a, b| a.score >= b.score));
    }

    #[test]
    fn answer_without_numbers_changes_nothing() {
        let mut snippets = snippets();
        assert!(!reorder(&mut snippets, &[0, 1, 2, 3], Vec::new()));
        assert_eq!(snippets[0].path, "a");
    }
}
