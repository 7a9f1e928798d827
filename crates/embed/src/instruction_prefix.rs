//! Instructions that some models require before a text.

use crate::Purpose;

/// Returns the instruction before a text of this purpose; empty for most models.
pub(crate) fn prefix(model: &str, purpose: Purpose) -> &'static str {
    let model = model.to_lowercase().replace(['_', '/'], "-");
    FAMILIES.iter().find(|family| model.contains(family.sign)).map_or("", |family| match purpose {
        Purpose::Query(_) => family.query,
        Purpose::Save | Purpose::Passage => family.passage,
    })
}

struct Family {
    /// Part of the model's name, in lower case, with `-` between words.
    sign: &'static str,
    query: &'static str,
    passage: &'static str,
}

const SEARCH_QUERY: &str = "Represent this sentence for searching relevant passages: ";

/// Instructions of the model cards. `bge-m3` and `all-MiniLM` have none.
const FAMILIES: &[Family] = &[
    Family { sign: "multilingual-e5", query: "query: ", passage: "passage: " },
    Family { sign: "multilinguale5", query: "query: ", passage: "passage: " },
    Family { sign: "e5-small", query: "query: ", passage: "passage: " },
    Family { sign: "e5-base", query: "query: ", passage: "passage: " },
    Family { sign: "e5-large", query: "query: ", passage: "passage: " },
    Family { sign: "nomic-embed", query: "search_query: ", passage: "search_document: " },
    Family { sign: "modernbert-embed", query: "search_query: ", passage: "search_document: " },
    Family { sign: "bge-small-en", query: SEARCH_QUERY, passage: "" },
    Family { sign: "bge-base-en", query: SEARCH_QUERY, passage: "" },
    Family { sign: "bge-large-en", query: SEARCH_QUERY, passage: "" },
    Family { sign: "mxbai-embed", query: SEARCH_QUERY, passage: "" },
    Family { sign: "arctic-embed", query: SEARCH_QUERY, passage: "" },
];

#[cfg(test)]
mod tests {
    use mc_domain::ProjectId;

    use super::*;

    #[test]
    fn model_family_is_recognized_in_any_spelling() {
        for name in ["intfloat/multilingual-e5-small", "e5-base-v2", "Multilingual_E5_Large"] {
            assert_eq!(prefix(name, Purpose::Query(ProjectId::generate())), "query: ", "{name}");
            for purpose in [Purpose::Save, Purpose::Passage] {
                assert_eq!(prefix(name, purpose), "passage: ", "{name}");
            }
        }
        assert_eq!(prefix("nomic-embed-text:v1.5", Purpose::Passage), "search_document: ");
    }

    #[test]
    fn most_models_have_no_instruction_prefix() {
        for name in ["all-minilm-l6-v2-int8", "BAAI/bge-m3", "text-embedding-3-small"] {
            assert_eq!(prefix(name, Purpose::Query(ProjectId::generate())), "", "{name}");
        }
    }
}
