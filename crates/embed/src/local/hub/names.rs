//! Names of models on the hub.

use fastembed::{EmbeddingModel, ModelInfo, TextEmbedding};
use strsim::osa_distance;

use super::HubModel;
use crate::Error;

/// Names that an error suggests.
const SUGGESTED: usize = 3;

/// Finds a model by its repository, its repository without the organization, or fastembed's name
/// for it, in any case. The repository is that of the model's authors, or the one with the ONNX
/// files. If it has several quantizations, the result is the original; the others have only
/// fastembed's names.
pub(in crate::local) fn find(name: &str) -> Result<HubModel, Error> {
    let mut models = TextEmbedding::list_supported_models();
    models.sort_by_key(|info| (is_quantized(&info.model), info.model.to_string()));
    let wanted = name.trim();
    let found = [fastembed_name, repository, bare_name].iter().find_map(|matches| {
        models.iter().find(|info| matches(info).iter().any(|n| n.eq_ignore_ascii_case(wanted)))
    });
    let Some(found) = found else {
        return Err(Error::UnknownModel {
            model: name.to_owned(),
            nearest: nearest(wanted, &models),
        });
    };
    Ok(HubModel {
        model: found.model.clone(),
        repository: found.model_code.clone(),
        graph: found.model_file.clone(),
        weights: found.additional_files.clone(),
    })
}

fn fastembed_name(info: &ModelInfo<EmbeddingModel>) -> Vec<String> {
    vec![info.model.to_string()]
}

fn repository(info: &ModelInfo<EmbeddingModel>) -> Vec<String> {
    vec![original(&info.model).to_owned(), info.model_code.clone()]
}

fn bare_name(info: &ModelInfo<EmbeddingModel>) -> Vec<String> {
    repository(info).iter().map(|repository| bare(repository).to_owned()).collect()
}

fn bare(repository: &str) -> &str {
    repository.rsplit('/').next().unwrap_or(repository)
}

/// Returns the repositories whose bare names are nearest to that of `wanted`.
fn nearest(wanted: &str, models: &[ModelInfo<EmbeddingModel>]) -> String {
    let wanted = bare(wanted).to_lowercase();
    let mut names: Vec<_> = models.iter().map(|info| original(&info.model)).collect();
    names.sort_unstable();
    names.dedup();
    names.sort_by_key(|name| osa_distance(&wanted, &bare(name).to_lowercase()));
    names[..SUGGESTED].join(", ")
}

fn is_quantized(model: &EmbeddingModel) -> bool {
    let name = model.to_string();
    name.ends_with('Q') || name.ends_with("Q4")
}

/// Returns the repository of the model's authors, by whose name people know it.
fn original(model: &EmbeddingModel) -> &'static str {
    use EmbeddingModel as M;
    match model {
        M::AllMiniLML6V2 | M::AllMiniLML6V2Q => "sentence-transformers/all-MiniLM-L6-v2",
        M::AllMiniLML12V2 | M::AllMiniLML12V2Q => "sentence-transformers/all-MiniLM-L12-v2",
        M::AllMpnetBaseV2 => "sentence-transformers/all-mpnet-base-v2",
        M::BGEBaseENV15 | M::BGEBaseENV15Q => "BAAI/bge-base-en-v1.5",
        M::BGELargeENV15 | M::BGELargeENV15Q => "BAAI/bge-large-en-v1.5",
        M::BGESmallENV15 | M::BGESmallENV15Q => "BAAI/bge-small-en-v1.5",
        M::NomicEmbedTextV1 => "nomic-ai/nomic-embed-text-v1",
        M::NomicEmbedTextV15 | M::NomicEmbedTextV15Q => "nomic-ai/nomic-embed-text-v1.5",
        M::ParaphraseMLMiniLML12V2 | M::ParaphraseMLMiniLML12V2Q => {
            "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
        }
        M::ParaphraseMLMpnetBaseV2 => "sentence-transformers/paraphrase-multilingual-mpnet-base-v2",
        M::BGESmallZHV15 => "BAAI/bge-small-zh-v1.5",
        M::BGELargeZHV15 => "BAAI/bge-large-zh-v1.5",
        M::BGEM3 => "BAAI/bge-m3",
        M::ModernBertEmbedLarge => "lightonai/modernbert-embed-large",
        M::MultilingualE5Small => "intfloat/multilingual-e5-small",
        M::MultilingualE5Base => "intfloat/multilingual-e5-base",
        M::MultilingualE5Large => "intfloat/multilingual-e5-large",
        M::MxbaiEmbedLargeV1 | M::MxbaiEmbedLargeV1Q => "mixedbread-ai/mxbai-embed-large-v1",
        M::GTEBaseENV15 | M::GTEBaseENV15Q => "Alibaba-NLP/gte-base-en-v1.5",
        M::GTELargeENV15 | M::GTELargeENV15Q => "Alibaba-NLP/gte-large-en-v1.5",
        M::ClipVitB32 => "Qdrant/clip-ViT-B-32-text",
        M::JinaEmbeddingsV2BaseCode => "jinaai/jina-embeddings-v2-base-code",
        M::JinaEmbeddingsV2BaseEN => "jinaai/jina-embeddings-v2-base-en",
        M::EmbeddingGemma300M | M::EmbeddingGemma300MQ4 | M::EmbeddingGemma300MQ => {
            "google/embeddinggemma-300m"
        }
        M::SnowflakeArcticEmbedXS | M::SnowflakeArcticEmbedXSQ => {
            "Snowflake/snowflake-arctic-embed-xs"
        }
        M::SnowflakeArcticEmbedS | M::SnowflakeArcticEmbedSQ => {
            "Snowflake/snowflake-arctic-embed-s"
        }
        M::SnowflakeArcticEmbedM | M::SnowflakeArcticEmbedMQ => {
            "Snowflake/snowflake-arctic-embed-m"
        }
        M::SnowflakeArcticEmbedMLong | M::SnowflakeArcticEmbedMLongQ => {
            "Snowflake/snowflake-arctic-embed-m-long"
        }
        M::SnowflakeArcticEmbedL | M::SnowflakeArcticEmbedLQ => {
            "Snowflake/snowflake-arctic-embed-l"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(name: &str) -> String {
        find(name).unwrap_or_else(|error| panic!("{name}: {error}")).stored_name()
    }

    #[test]
    fn common_names_resolve_to_repositories() {
        for (names, expected) in [
            (
                &["bge-m3", "BAAI/bge-m3", "BGE-M3", "baai/BGE-m3", " bge-m3 ", "BGEM3"][..],
                "BAAI/bge-m3 (BGEM3)",
            ),
            (
                &["multilingual-e5-small", "intfloat/multilingual-e5-small"],
                "intfloat/multilingual-e5-small (MultilingualE5Small)",
            ),
            (
                &["multilingual-e5-base", "Intfloat/Multilingual-E5-Base"],
                "intfloat/multilingual-e5-base (MultilingualE5Base)",
            ),
            // The authors' repository has no ONNX files that fastembed reads.
            (
                &[
                    "multilingual-e5-large",
                    "intfloat/multilingual-e5-large",
                    "Qdrant/multilingual-e5-large-onnx",
                ],
                "Qdrant/multilingual-e5-large-onnx (MultilingualE5Large)",
            ),
            (
                &["all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"],
                "Qdrant/all-MiniLM-L6-v2-onnx (AllMiniLML6V2)",
            ),
            (
                &["bge-small-en-v1.5", "BAAI/bge-small-en-v1.5", "Xenova/bge-small-en-v1.5"],
                "Xenova/bge-small-en-v1.5 (BGESmallENV15)",
            ),
            (
                &["snowflake-arctic-embed-l", "Snowflake/snowflake-arctic-embed-l"],
                "snowflake/snowflake-arctic-embed-l (SnowflakeArcticEmbedL)",
            ),
            (
                &["google/embeddinggemma-300m", "embeddinggemma-300m"],
                "onnx-community/embeddinggemma-300m-ONNX (EmbeddingGemma300M)",
            ),
        ] {
            for name in names {
                assert_eq!(stored(name), expected, "{name}");
            }
        }
    }

    /// A repository with a quantization as well must not depend on the order of fastembed's map.
    #[test]
    fn quantization_is_chosen_by_its_own_name_only() {
        for name in ["nomic-embed-text-v1.5", "nomic-ai/nomic-embed-text-v1.5"] {
            assert_eq!(stored(name), "nomic-ai/nomic-embed-text-v1.5 (NomicEmbedTextV15)");
        }
        let quantized = "nomic-ai/nomic-embed-text-v1.5 (NomicEmbedTextV15Q)";
        assert_eq!(stored("nomicembedtextv15q"), quantized);
        assert_eq!(stored("Xenova/all-MiniLM-L6-v2"), "Xenova/all-MiniLM-L6-v2 (AllMiniLML6V2Q)");
    }

    #[test]
    fn every_model_is_found_by_each_of_its_names() {
        for info in TextEmbedding::list_supported_models() {
            assert_eq!(find(&info.model.to_string()).expect("a model").model, info.model);
            for name in repository(&info).iter().chain(&bare_name(&info)) {
                assert!(find(name).is_ok(), "{name}");
            }
        }
    }

    #[test]
    fn unknown_name_error_names_the_setting_and_the_nearest() {
        for (name, nearest) in [
            ("bge-m33", "BAAI/bge-m3"),
            ("BAAI/bge_m3", "BAAI/bge-m3"),
            ("multilingual-e5-smal", "intfloat/multilingual-e5-small"),
            ("e5-multilingual-large", "intfloat/multilingual-e5-"),
            ("nobody/bge-m3", "BAAI/bge-m3"),
        ] {
            let error = find(name).err().expect(name).to_string();
            assert!(error.contains("embedding.model") && error.contains(name), "{error}");
            assert!(error.contains(nearest), "{error}");
        }
    }
}
