//! Phrases without content that people and assistants put around a statement.

use std::sync::LazyLock;

use regex::Regex;

use super::regex;

/// Introductory phrases, followed by the statement. Each ends in punctuation or `that`: without it,
/// the same words may begin a statement ("In short transactions", "We found no reason to").
const LEADS: &[&str] = &[
    concat!(
        r"(?:hi|hello|hey|dear)\s+(?:all|team|everyone|everybody|folks|guys|there|colleagues|",
        r"copilot)\s*[,!.:]+",
    ),
    r"(?:hi|hello|hey)\s*[,!.]+",
    r"(?:hi|dear)\s+(?-i:\p{Lu})\p{L}+\s*,",
    concat!(
        r"(?:sure|certainly|absolutely|of course|ok|okay|great|perfect|right|alright|",
        r"good question|great question|got it|understood)\s*[,!.]+",
    ),
    r"(?:please\s+)?(?:note|remember|be aware|keep in mind|bear in mind|mind|be advised)\s+that",
    concat!(
        r"(?:please\s+)?(?:note|remember|reminder|important|attention|fyi|tl;?dr|summary|",
        r"heads[- ]?up|nb|n\.b\.)\s*[:,!]",
    ),
    r"please",
    concat!(
        r"(?:just\s+)?(?:a\s+)?(?:quick|small|friendly)\s+(?:note|reminder|",
        r"heads[- ]?up)(?:\s*[:,]|\s+that)",
    ),
    r"(?:just\s+)?(?:as\s+)?(?:an?\s+)?(?:fyi|reminder|heads[- ]?up)\s*[:,]",
    concat!(
        r"(?:for the record|by the way|btw|in case you missed it|good to know|worth noting|",
        r"it is worth noting|it's worth noting|it turns out|it turned out|turns out|to be clear|",
        r"in short|in summary|to summarize|to sum up)(?:\s*[:,](?:\s+that)?|\s+that)",
    ),
    concat!(
        r"(?:i found|i found out|i noticed|i have found|i've found|we found|we found out|",
        r"we noticed|we learned|we learnt|we have learned|i learned)(?:\s*[:,](?:\s+that)?|",
        r"\s+that)",
    ),
    concat!(
        r"(?:here is|here's|here are|below is|below are)(?: the| a| an| my| your)? (?:summary|",
        r"answer|explanation|note|notes|fact|facts|result|results|breakdown|overview)\s*:",
    ),
    r"(?:thanks|thank you)(?:\s+(?:all|everyone|so much|a lot|very much|in advance))?\s*[,!.:]+",
    concat!(
        r"(?:привет|здравствуйте|добрый день|доброе утро|добрый вечер|коллеги|ребята|",
        r"всем привет|привет всем)(?:,?\s+(?:всем|коллеги|ребята|команда))?\s*[,!.:]+",
    ),
    r"(?:конечно|хорошо|понял|понятно|отлично|ок|ладно)\s*[,!.]+",
    concat!(
        r"(?:пожалуйста,?\s*)?(?:обрати(?:те)? внимание|учти(?:те)?|помни(?:те)?|",
        r"имей(?:те)? в виду|не забывай(?:те)?|хочу отметить|стоит отметить|важно отметить|",
        r"напоминаю|напомню)(?:\s*[:,](?:\s*что)?|\s+что)",
    ),
    r"(?:важно|внимание|напоминание|кратко|итог|на заметку|к сведению|для справки)\s*[:!]",
    r"пожалуйста\s*,",
    concat!(
        r"(?:кстати|между прочим|к слову|на всякий случай|в общем|короче|оказалось|выяснилось|",
        r"как выяснилось|мы выяснили|мы заметили)(?:\s*[:,](?:\s*что)?|\s+что)",
    ),
    r"(?:спасибо|благодарю)(?:\s+(?:всем|большое|заранее|за внимание))?\s*[,!.:]+",
];

/// Whole sentences without content. None leaves room for a statement: a rule that begins like a
/// greeting or an offer is a rule.
const CHATTER: &[&str] = &[
    concat!(
        r"(?:hi|hello|hey|dear)(?:[\s,]+(?:again|all|team|everyone|everybody|folks|guys|there|",
        r"friends|colleagues|copilot))*",
    ),
    concat!(
        r"(?:sure|certainly|absolutely|of course|ok|okay|great|perfect|got it|understood|",
        r"good question|great question|no problem|sounds good|you're welcome|you are welcome)",
    ),
    concat!(
        r"(?:many )?(?:thanks|thank you)(?:[\s,]+(?:all|everyone|team|guys|so much|very much|",
        r"a lot|again|in advance|for asking|for (?:your|the|all the|any) (?:help|time|attention|",
        r"reading|support|answer|patience)))*",
    ),
    r"(?:i )?hope (?:this|that|it) helps(?: you| everyone| someone| somebody| others| out)?",
    concat!(
        r"(?:please )?(?:let me know|feel free to (?:ask|ping me|contact me|reach out)|(?:don't|",
        r"do not) hesitate to (?:ask|contact me|reach out)|happy to help|reach out|",
        r"ping me)(?: (?:if|should|when|in case)(?: [\w']+){1,6} (?:questions?|help|",
        r"anything(?: else)?|more(?: info| details)?|details|unclear|problems?|issues?|",
        r"clarification))?",
    ),
    concat!(
        r"(?:is there anything else|anything else|would you like me to|do you want me to|",
        r"shall i)\b[^`.:]{0,100}\?",
    ),
    r"as an? (?:ai|language model|ai language model)\b,? i\b[^`:]{0,140}",
    concat!(
        r"(?:i'll|i will|let me|i'm going to|i am going to) (?:now )?(?:take a look|look|check|",
        r"explain|help|walk you|start|go ahead|summari[sz]e|save|remember)[\w ']{0,40}",
    ),
    concat!(
        r"(?:here is|here's|here are|below is|below are)(?: the| a| an| my| your)? (?:summary|",
        r"answer|explanation|note|notes|fact|facts|result|results|breakdown|overview)",
    ),
    concat!(
        r"(?:cheers|best|best regards|kind regards|regards|have a nice day|have a great day|",
        r"good luck)(?:\s*,\s*(?-i:\p{Lu})\p{L}+)?",
    ),
    concat!(
        r"(?:привет|здравствуйте|добрый день|доброе утро|добрый вечер)(?:[\s,]+(?:всем|коллеги|",
        r"ребята|команда|друзья))*",
    ),
    r"(?:конечно|хорошо|понял|понятно|отлично|ладно|ок)",
    concat!(
        r"(?:большое )?(?:спасибо|благодарю)(?:[\s,]+(?:всем|большое|огромное|заранее|",
        r"за (?:внимание|помощь|ответ)))*",
    ),
    r"надеюсь,? (?:это|что это)? ?помо\w+(?: вам| тебе)?",
    concat!(
        r"(?:(?:дайте|дай)(?: мне)? знать|обращайтесь|пишите|",
        r"спрашивайте),? если(?: \w+){0,3} вопрос\w*",
    ),
    r"(?:дайте знать|дай знать|обращайтесь|буду рада? помочь)",
    concat!(
        r"если (?:есть|будут|возникнут) вопрос\w*(?:[, ]+(?:пишите|обращайтесь|дайте знать|",
        r"спрашивайте))?",
    ),
    r"(?:вот|ниже)(?: краткий| краткое| краткая)? (?:ответ|объяснение|итог|сводка|резюме)",
    r"(?:с уважением(?:,\s*[\w ]{1,30})?|хорошего дня|удачи)",
];

/// Word that turns a greeting into the name of a program: `Hello, World!`.
const NOT_GREETED: &str = "world";

static LEAD: LazyLock<Regex> =
    LazyLock::new(|| regex(&format!(r"(?i)^(?:{})(?:\s+|$)", LEADS.join("|"))));

static WHOLE: LazyLock<Regex> =
    LazyLock::new(|| regex(&format!(r"(?i)^(?:{})[\s.,!?:;)…👍🙂🙏😊]*$", CHATTER.join("|"))));

/// Removes introductory phrases from a sentence.
pub fn strip_lead(sentence: &str) -> &str {
    let mut rest = sentence.trim();
    while let Some(found) = LEAD.find(rest) {
        let statement = rest[found.end()..].trim_start();
        if begins_with_word(statement, NOT_GREETED) {
            break;
        }
        rest = statement;
    }
    rest
}

/// Whether `text` begins with `word`, in any case.
fn begins_with_word(text: &str, word: &str) -> bool {
    let first = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    first.eq_ignore_ascii_case(word)
}

/// Whether a sentence has no content: a greeting, thanks, an offer to help.
pub fn is_chatter(sentence: &str) -> bool {
    WHOLE.is_match(sentence.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn introductory_phrases_are_removed() {
        let cases = [
            ("Hi team, please note that retries are off", "retries are off"),
            ("Hi, the cache is shared", "the cache is shared"),
            ("Dear Maria, the cache is shared", "the cache is shared"),
            ("FYI: the queue is FIFO", "the queue is FIFO"),
            ("Here is the result: never lock twice", "never lock twice"),
            ("Коллеги, обратите внимание, что кэш общий", "кэш общий"),
            ("Keep in mind that X", "X"),
            ("Please restart the worker", "restart the worker"),
            ("Важно: порядок", "порядок"),
        ];
        for (sentence, expected) in cases {
            assert_eq!(strip_lead(sentence), expected);
        }
    }

    #[test]
    fn sentence_that_resembles_a_stop_phrase_is_unchanged() {
        for sentence in [
            "Hello World example needs the trailing newline",
            "Hello, World! is printed without a newline",
            "Hi-Fi streams are not cached",
            "Hello: the greeting key of the locale file",
            "In short transactions the lock is not taken",
            "We found no reason to keep the lock",
            "I think that retries are off",
            "Короче 120 символов строки не переносятся",
            "В общем случае порядок не важен",
            "Помните пароль только в памяти процесса",
            "Notes are kept",
            "Sure-fire way",
        ] {
            assert_eq!(strip_lead(sentence), sentence);
        }
    }

    #[test]
    fn chatter_differs_from_statements() {
        for chatter in [
            "Hi all!",
            "Sure!",
            "I hope this helps.",
            "Let me know if you have questions!",
            "Let me know if you have any further questions.",
            "Shall I run the tests again?",
            "Best regards, Maria",
            "Спасибо!",
            "Надеюсь, это поможет.",
            "Thanks for the help",
            "Here is the summary:",
            "Hello team",
            "Если будут вопросы, пишите!",
        ] {
            assert!(is_chatter(chatter), "{chatter}");
        }
        for statement in [
            "Thanks to the index the query takes 3 ms and no lock is held on the table at all",
            "Thanks to the index it is fast",
            "The hello endpoint is public",
            "Hello endpoint is public",
            "Hello World",
            "Best practice is one lock",
            "Feel free to delete the cache",
            "Here is the result: never lock twice",
            "Let me summarize: never lock twice",
            "Пишите тесты на каждый баг",
            "Обращайтесь к API через прокси",
            "No",
            "Yes.",
            "No retries on 429",
            "Да, индекс нужен",
            "Great care is needed with locks",
        ] {
            assert!(!is_chatter(statement), "{statement}");
        }
    }
}
