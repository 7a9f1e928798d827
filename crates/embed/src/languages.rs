//! Languages of models.

/// Parts of the names of models that know many languages, in lower case, with `-` between words.
const MULTILINGUAL: &[&str] = &[
    "multilingual",
    "bge-m3",
    "embeddinggemma",
    "nomic-embed-text-v2",
    "arctic-embed-l-v2",
    "arctic-embed-m-v2",
    "arctic-embed2",
    "jina-embeddings-v3",
    "jina-embeddings-v4",
    "qwen3-embedding",
    "labse",
];

/// Returns whether a model is known to embed texts of many languages, by its name.
pub fn is_multilingual(model: &str) -> bool {
    let model = model.to_lowercase().replace('_', "-");
    MULTILINGUAL.iter().any(|part| model.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multilingual_models_are_recognized() {
        for name in [
            "BAAI/bge-m3 (BGEM3)",
            "intfloat/multilingual-e5-small (MultilingualE5Small)",
            "Qdrant/paraphrase-multilingual-MiniLM-L12-v2-onnx-Q (ParaphraseMLMiniLML12V2Q)",
            "onnx-community/embeddinggemma-300m-ONNX (EmbeddingGemma300M)",
        ] {
            assert!(is_multilingual(name), "{name}");
        }
        for name in ["all-minilm-l6-v2-int8", "Xenova/bge-small-en-v1.5 (BGESmallENV15)"] {
            assert!(!is_multilingual(name), "{name}");
        }
    }
}
