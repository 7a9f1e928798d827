//! The catalog of general instructions.

use std::sync::LazyLock;

use super::CandidateInstruction;

static CATALOG: LazyLock<Vec<CandidateInstruction>> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the file is part of the program; a test parses it")]
    serde_norway::from_str(include_str!("catalog.yaml")).expect("the catalog is valid YAML")
});

/// Returns the general instructions, which suit most projects.
pub fn catalog() -> &'static [CandidateInstruction] {
    &CATALOG
}
