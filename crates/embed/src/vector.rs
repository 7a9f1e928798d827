//! Validation, normalization and encoding of vectors.

use crate::{Error, ModelId};

/// Normalizes `vectors` to unit length.
///
/// Fails unless there is one for each of `texts` texts, of the model's dimensions and finite.
pub(crate) fn checked(
    model: &ModelId,
    texts: usize,
    vectors: Vec<Vec<f32>>,
) -> Result<Vec<Vec<f32>>, Error> {
    if vectors.len() != texts {
        return Err(bad(model, format!("{} vectors for {texts} texts", vectors.len())));
    }
    vectors.into_iter().map(|vector| normalized(model, vector)).collect()
}

fn normalized(model: &ModelId, mut vector: Vec<f32>) -> Result<Vec<f32>, Error> {
    if vector.len() != model.dimensions {
        let reason = format!(
            "a vector of {} dimensions where {} are expected; if its weights changed, restart the \
            service, else correct embedding.dimensions",
            vector.len(),
            model.dimensions
        );
        return Err(bad(model, reason));
    }
    // In f64: the squares of a large f32 may not fit in one.
    let length = vector.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    if !length.is_finite() {
        return Err(bad(model, "a vector with numbers that are not finite".into()));
    }
    if length <= f64::EPSILON {
        return Err(bad(model, "a vector of zeros, which has no direction".into()));
    }
    for x in &mut vector {
        #[expect(clippy::cast_possible_truncation, reason = "at most 1 after the division")]
        {
            *x = (f64::from(*x) / length) as f32;
        }
    }
    Ok(vector)
}

/// Encodes a vector as little-endian bytes.
pub(crate) fn written(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Decodes the bytes of [`written`], if they have the model's dimensions.
pub(crate) fn read(model: &ModelId, bytes: &[u8]) -> Option<Vec<f32>> {
    let (numbers, []) = bytes.as_chunks::<4>() else { return None };
    let vector: Vec<f32> = numbers.iter().map(|number| f32::from_le_bytes(*number)).collect();
    (vector.len() == model.dimensions).then_some(vector)
}

fn bad(model: &ModelId, reason: String) -> Error {
    Error::BadAnswer { model: model.name.clone(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(vectors: Vec<Vec<f32>>) -> Result<Vec<Vec<f32>>, String> {
        let model = ModelId { name: "m".into(), dimensions: 2 };
        checked(&model, 1, vectors).map_err(|error| error.to_string())
    }

    #[test]
    fn vectors_get_unit_length() {
        assert_eq!(check(vec![vec![3.0, 4.0]]), Ok(vec![vec![0.6, 0.8]]));
        assert_eq!(check(vec![vec![f32::MAX, 0.0]]), Ok(vec![vec![1.0, 0.0]]));
    }

    #[test]
    fn vector_round_trips_and_invalid_bytes_decode_to_none() {
        let model = ModelId { name: "m".into(), dimensions: 2 };
        let bytes = written(&[0.6, 0.8]);
        assert_eq!(read(&model, &bytes), Some(vec![0.6, 0.8]));
        for spoilt in [&bytes[..7], &bytes[..4], &[0; 12], &[]] {
            assert_eq!(read(&model, spoilt), None, "{spoilt:?}");
        }
    }

    #[test]
    fn invalid_response_error_has_its_reason() {
        for (vectors, words) in [
            (vec![], "0 vectors for 1 texts"),
            (vec![vec![1.0]], "1 dimensions where 2 are expected"),
            (vec![vec![f32::NAN, 1.0]], "not finite"),
            (vec![vec![f32::INFINITY, 1.0]], "not finite"),
            (vec![vec![0.0, 0.0]], "zeros"),
        ] {
            let error = check(vectors).expect_err(words);
            assert!(error.contains(words), "{error}");
        }
    }
}
