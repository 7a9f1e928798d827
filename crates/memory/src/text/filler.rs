//! What people and assistants say around the thing they say.

use std::sync::LazyLock;

use regex::Regex;

/// Openings that carry nothing; what follows them is the sentence.
const LEADS: &[&str] = &[
    r"(?:hi|hello|hey|dear)(?:\s+(?:all|team|everyone|everybody|folks|guys|there|colleagues|copilot))?\s*[,!.:]+",
    r"(?:sure|certainly|absolutely|of course|ok|okay|great|perfect|right|alright|good question|great question|got it|understood)\s*[,!.:]+",
    r"(?:please\s+)?(?:note|remember|be aware|keep in mind|bear in mind|mind|be advised)\s+that",
    r"(?:please\s+)?(?:note|remember|reminder|important|attention|fyi|tl;?dr|summary|heads[- ]?up|nb|n\.b\.)\s*[:,!]",
    r"please",
    r"(?:just\s+)?(?:a\s+)?(?:quick|small|friendly)\s+(?:note|reminder|heads[- ]?up)\s*[:,]?(?:\s+that)?",
    r"(?:just\s+)?(?:as\s+)?(?:an?\s+)?(?:fyi|reminder|heads[- ]?up)\s*[:,]",
    r"(?:for the record|by the way|btw|in case you missed it|good to know|worth noting|it is worth noting|it's worth noting|it turns out|it turned out|turns out|to be clear|in short|in summary|to summarize|to sum up)\s*[:,]?(?:\s+that)?",
    r"(?:i think|i believe|i found|i found out|i noticed|i have found|i've found|we found|we found out|we noticed|we learned|we learnt|we have learned|i learned|as far as i know|afaik|imo|imho)\s*[:,]?(?:\s+that)?",
    r"(?:thanks|thank you)(?:\s+(?:all|everyone|so much|a lot|very much|in advance))?\s*[,!.:]+",
    r"(?:привет|здравствуйте|добрый день|доброе утро|добрый вечер|коллеги|ребята|всем привет|привет всем)(?:,?\s+(?:всем|коллеги|ребята|команда))?\s*[,!.:]+",
    r"(?:конечно|хорошо|понял|понятно|отлично|ок|ладно)\s*[,!.:]+",
    r"(?:пожалуйста,?\s*)?(?:обрати(?:те)? внимание|учти(?:те)?|помни(?:те)?|имей(?:те)? в виду|не забывай(?:те)?|хочу отметить|стоит отметить|важно отметить|напоминаю|напомню)\s*[:,]?(?:\s*что)?",
    r"(?:важно|внимание|напоминание|кратко|итог|на заметку|к сведению|для справки)\s*[:!]",
    r"пожалуйста\s*,?",
    r"(?:кстати|между прочим|к слову|на всякий случай|в общем|короче|оказалось|выяснилось|как выяснилось|я думаю|мне кажется|мы выяснили|мы заметили)\s*[:,]?(?:\s*что)?",
    r"(?:спасибо|благодарю)(?:\s+(?:всем|большое|заранее|за внимание))?\s*[,!.:]+",
];

/// Sentences that carry nothing, as a whole.
const CHATTER: &[&str] = &[
    r"(?:hi|hello|hey|dear)\b[\w ,]{0,24}",
    r"(?:sure|certainly|absolutely|of course|ok|okay|great|perfect|got it|understood|good question|great question|no problem|sounds good|you're welcome|you are welcome|done|yes|no)",
    r"(?:many )?(?:thanks|thank you)\b[\w ,]{0,40}",
    r"(?:i )?hope (?:this|that|it) helps\b.{0,30}",
    r"(?:please )?(?:let me know|feel free|don't hesitate|do not hesitate|happy to help|reach out|ping me)\b.{0,120}",
    r"(?:is there anything else|anything else|would you like me to|do you want me to|shall i)\b.{0,120}",
    r"(?:as an ai|as a language model)\b.{0,160}",
    r"(?:i'll|i will|let me|i'm going to|i am going to) (?:now )?(?:take a look|look|check|explain|help|walk you|start|go ahead|summari[sz]e|save|remember)\b.{0,80}",
    r"(?:here is|here's|here are|below is|below are)\b(?: the| a| an| my| your)? (?:summary|answer|explanation|note|notes|fact|facts|result|results|breakdown|overview)\b.{0,60}",
    r"(?:cheers|best|best regards|kind regards|regards|have a nice day|have a great day|good luck)\b[\w ,]{0,24}",
    r"(?:привет|здравствуйте|добрый день|доброе утро|добрый вечер)\b[\w ,]{0,24}",
    r"(?:конечно|хорошо|понял|понятно|отлично|ладно|да|нет|готово|ок)",
    r"(?:большое )?(?:спасибо|благодарю)\b[\w ,]{0,40}",
    r"надеюсь,? (?:это|что это)? ?помо\w+.{0,40}",
    r"(?:дайте знать|дай знать|обращайтесь|пишите|если (?:есть|будут|возникнут) вопрос\w*|буду рад)\b.{0,120}",
    r"(?:вот|ниже)(?: краткий| краткое| краткая)? (?:ответ|объяснение|итог|сводка|резюме)\b.{0,60}",
    r"(?:с уважением|хорошего дня|удачи)\b[\w ,]{0,24}",
];

static LEAD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(r"(?i)^(?:{})(?:\s+|$)", LEADS.join("|"))).expect("a checked expression")
});

static WHOLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(r"(?i)^(?:{})[\s.,!?:;)…👍🙂🙏😊]*$", CHATTER.join("|")))
        .expect("a checked expression")
});

/// The sentence without the words that only lead up to it.
pub fn strip_lead(sentence: &str) -> &str {
    let mut rest = sentence.trim();
    while let Some(found) = LEAD.find(rest) {
        rest = rest[found.end()..].trim_start();
    }
    rest
}

/// Whether the sentence says nothing about anything: a greeting, thanks, an offer to help.
pub fn is_chatter(sentence: &str) -> bool {
    WHOLE.is_match(sentence.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leads_go_and_statements_stay() {
        let cases = [
            ("Hi team, please note that retries are off", "retries are off"),
            ("FYI: the queue is FIFO", "the queue is FIFO"),
            ("Коллеги, обратите внимание, что кэш общий", "кэш общий"),
            ("Keep in mind that X", "X"),
            ("Please restart the worker", "restart the worker"),
            ("Notes are kept", "Notes are kept"),
            ("Sure-fire way", "Sure-fire way"),
            ("Важно: порядок", "порядок"),
        ];
        for (sentence, expected) in cases {
            assert_eq!(strip_lead(sentence), expected);
        }
    }

    #[test]
    fn chatter_is_told_from_statements() {
        for chatter in [
            "Sure!",
            "I hope this helps.",
            "Let me know if you have questions!",
            "Спасибо!",
            "Надеюсь, это поможет.",
            "Thanks for the help",
            "Here is the summary:",
            "Hello team",
        ] {
            assert!(is_chatter(chatter), "{chatter}");
        }
        for statement in [
            "Thanks to the index the query takes 3 ms and no lock is held on the table at all",
            "The hello endpoint is public",
            "No retries on 429",
            "Да, индекс нужен",
            "Great care is needed with locks",
        ] {
            assert!(!is_chatter(statement), "{statement}");
        }
    }
}
