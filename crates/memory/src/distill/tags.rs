//! Deriving tags from the words of a text.

use std::sync::LazyLock;

use mc_domain::RecordKind;
use regex::Regex;

use crate::text::regex;

/// Tags with the expressions that imply them, at the start of a word.
const CUES: &[(&str, &str)] = &[
    (
        "bugfix",
        concat!(
            r"bugs?|bugfix|fix(?:ed|es)?|root cause|regression|crash\w*|nil|nullpointer\w*|",
            r"причина|баг\w*|исправ\w*|падает|ошибк\w*",
        ),
    ),
    (
        "performance",
        r"slow\w*|latency|n\+1|performance|throughput|медленн\w*|тормоз\w*|производительност\w*",
    ),
    ("security", r"security|vulnerab\w*|injection|xss|csrf|уязвим\w*|безопасност\w*"),
    ("migration", r"migrations?|migrate[ds]?|schema change|миграци\w*"),
    ("testing", r"flaky|rspec|pytest|unit tests?|fixtures?|тест(?:ы|ов|ах|ами)"),
    ("concurrency", r"race condition|deadlock\w*|mutex|thread[- ]safe\w*|гонк\w*|блокировк\w*"),
    (
        "configuration",
        r"env(?:ironment)? variable\w*|feature flags?|config(?:uration)?|настройк\w*|конфиг\w*",
    ),
    ("deploy", r"deploy\w*|rollback|rollout|helm|kubernetes|деплой\w*|релиз\w*|выкат\w*"),
    ("database", r"postgres\w*|mysql|sql|index on|transactions?|баз[аыеу] данных|транзакци\w*"),
    ("decision", r"we decided|decision|adr[- ]?\d*|решили|решение"),
];

static EXPRESSIONS: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
    let compile = |pattern: &str| regex(&format!(r"(?i)\b(?:{pattern})\b"));
    CUES.iter().map(|(tag, pattern)| (*tag, compile(pattern))).collect()
});
static HASHTAG: LazyLock<Regex> = LazyLock::new(|| regex(r"(?:^|\s)#(\p{L}[\p{L}\d_-]{1,30})\b"));

/// Derives tags: hashtags first, then those that words imply, most mentioned first.
pub fn derive(kind: RecordKind, text: &str) -> Vec<String> {
    let mut tags: Vec<String> =
        HASHTAG.captures_iter(text).map(|found| found[1].to_lowercase()).collect();
    let mut cued: Vec<_> = EXPRESSIONS
        .iter()
        .map(|(tag, expression)| (*tag, expression.find_iter(text).count()))
        .filter(|(_, count)| *count > 0)
        .collect();
    cued.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    tags.extend(cued.into_iter().map(|(tag, _)| tag.to_owned()));
    if kind == RecordKind::AdrLink {
        tags.insert(0, "decision".to_owned());
    }
    tags
}
