//! The kind of a note, by its words.

use std::sync::LazyLock;

use mc_domain::RecordKind;
use regex::Regex;

/// Headings of traps, and words with which one begins.
static GOTCHA: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)\b(gotchas?|pitfalls?|caveats?|beware|watch out|known (?:issues?|problems?)|",
        r"common (?:mistakes?|errors?)|troubleshooting|footguns?|surprising(?:ly)?)\b|",
        r"^(?:\*\*)?(?:warning|caution|careful|heads up)\b",
    ))
});
/// Words of an agreement to do or to avoid something.
static RULE: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)\b(must|never|always|should|do not|don['’]t|avoid|prefer|required?|forbidden|",
        r"only use|make sure|ensure|instead of|mandatory|not allowed|disallowed|cannot use)\b",
    ))
});
/// Verbs with which an order begins.
static ORDER: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)^(?:add|ask|call|check|choose|commit|confirm|create|define|delete|document|export|",
        r"extract|follow|format|group|import|include|keep|leave|limit|make|mark|move|name|pass|",
        r"place|pin|put|read|remove|rename|replace|return|reuse|run|separate|set|split|start|",
        r"store|test|treat|update|use|validate|verify|wrap|write)\b",
    ))
});

/// Returns the kind of a statement below a heading.
pub fn of_statement(heading: &str, statement: &str) -> RecordKind {
    if GOTCHA.is_match(heading) || GOTCHA.is_match(statement) {
        RecordKind::Gotcha
    } else if RULE.is_match(statement) || ORDER.is_match(statement) {
        RecordKind::Rule
    } else {
        RecordKind::Fact
    }
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a valid pattern")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_depends_on_heading_and_words() {
        for (heading, statement, kind) in [
            ("Style", "Never use default exports.", RecordKind::Rule),
            ("Style", "Use early returns.", RecordKind::Rule),
            ("Gotchas", "The worker caches the schema.", RecordKind::Gotcha),
            ("Queues", "Warning: the queue drops old jobs.", RecordKind::Gotcha),
            ("Layout", "The worker consumes the queue.", RecordKind::Fact),
            ("Layout", "`apps/web` serves the user interface.", RecordKind::Fact),
        ] {
            assert_eq!(of_statement(heading, statement), kind, "{statement}");
        }
    }
}
