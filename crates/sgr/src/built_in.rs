//! The schemas of this program.

use std::sync::LazyLock;

use crate::{Schema, SchemaSource};

/// Files with schemas, by name.
pub const BUILT_IN_FILES: [(&str, &str); 4] = [
    ("bugfix", include_str!("../../../sgr/bugfix.yaml")),
    ("refactor", include_str!("../../../sgr/refactor.yaml")),
    ("migration", include_str!("../../../sgr/migration.yaml")),
    ("review", include_str!("../../../sgr/review.yaml")),
];

#[expect(clippy::expect_used, reason = "the files are compiled in, and a test parses each")]
static SOURCES: LazyLock<Vec<SchemaSource>> = LazyLock::new(|| {
    let parse = |(_, yaml): (&str, &str)| SchemaSource::parse(yaml).expect("a schema in sgr/");
    BUILT_IN_FILES.map(parse).into()
});

#[expect(clippy::expect_used, reason = "the files are compiled in, and a test resolves each")]
static SCHEMAS: LazyLock<Vec<Schema>> = LazyLock::new(|| {
    let resolve = |source: &SchemaSource| {
        source.resolve(|_, name| find_built_in_source(name)).expect("a schema in sgr/")
    };
    built_in_sources().iter().map(resolve).collect()
});

/// Returns the files of this program, parsed: `bugfix`, `refactor`, `migration` and `review`.
pub fn built_in_sources() -> &'static [SchemaSource] {
    &SOURCES
}

/// Returns a file of this program by the name of its schema.
pub fn find_built_in_source(name: &str) -> Option<&'static SchemaSource> {
    built_in_sources().iter().find(|source| source.name == name)
}

/// Returns the schemas of this program, ready for use.
pub fn built_in() -> &'static [Schema] {
    &SCHEMAS
}
