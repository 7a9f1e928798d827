//! Batches of texts for requests, and the order of their vectors.

/// Maximum bytes of text in a request. Servers limit the tokens of a request, not only its texts.
const MAX_BATCH_BYTES: usize = 64 * 1024;

/// Returns the indices of `texts` in batches of similar length, so that a server pads little. A
/// batch has at most `max_texts` texts and, unless it is a single one, 64 KiB.
pub(super) fn by_length(texts: &[String], max_texts: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|&index| texts[index].len());
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut bytes = 0;
    for index in order {
        let length = texts[index].len();
        match batches.last_mut() {
            Some(batch) if batch.len() < max_texts && bytes + length <= MAX_BATCH_BYTES => {
                batch.push(index);
                bytes += length;
            }
            _ => {
                batches.push(vec![index]);
                bytes = length;
            }
        }
    }
    batches
}

/// Returns the vectors of all batches in the order of the texts.
pub(super) fn in_order(
    texts: usize,
    batches: &[Vec<usize>],
    answers: Vec<Vec<Vec<f32>>>,
) -> Vec<Vec<f32>> {
    let mut ordered = vec![Vec::new(); texts];
    for (batch, vectors) in batches.iter().zip(answers) {
        for (&index, vector) in batch.iter().zip(vectors) {
            ordered[index] = vector;
        }
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_group_texts_of_similar_length_within_limits() {
        let texts: Vec<String> =
            [5, 40_000, 1, 30_000, 3, 2].iter().map(|&n| "x".repeat(n)).collect();
        let batches = by_length(&texts, 3);
        assert_eq!(batches, [vec![2, 5, 4], vec![0, 3], vec![1]]);
    }

    #[test]
    fn vectors_are_returned_in_the_order_of_the_texts() {
        let batches = [vec![2, 0], vec![1]];
        let answers = vec![vec![vec![2.0], vec![0.0]], vec![vec![1.0]]];
        assert_eq!(in_order(3, &batches, answers), [[0.0], [1.0], [2.0]]);
    }
}
