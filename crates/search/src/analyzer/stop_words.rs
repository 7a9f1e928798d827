//! Stop words of English and Russian.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Returns whether a lower-case word is a stop word. Only words of prose in queries are checked:
/// every part of an identifier counts, and the index contains every word.
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(word)
}

// Keywords of code (`self`, `not`, `null`) are not included, because a query may be about them.
static STOP_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let words = "
        a about after all also am an and any are as at be because been before being but by
        can can't could did do does doesn't doing don't for from get had has have having
        he her here him his how i i'm if in into is isn't it it's its just me my no of on
        or our out she should so some such than that the their them then there these they
        this those to too up very was we were what when where which while who why will
        with would you your
        а без более бы был была были было быть в вам вас во вот все всего вы где да даже
        для до его ее если есть еще ж же за здесь и из или им их к как какая какие какой
        когда которая которые который кто ли меня мне можно мы на над надо нам нас наш не
        него нее нет ни них но ну о об он она они оно от по под после почему при про с сам
        свой себя со так также такой там те тем то того тоже той только том тот ту ты у
        уже чего чем через что чтобы эта эти это этого этой этом этот эту я
    ";
    words.split_whitespace().collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_english_and_russian() {
        assert!(["the", "don't", "и", "чтобы"].into_iter().all(is_stop_word));
        assert!(!is_stop_word("invoice") && !is_stop_word("self") && !is_stop_word(""));
    }
}
