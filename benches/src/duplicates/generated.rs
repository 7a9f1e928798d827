//! Generated notes with known duplicates: random sentences, some paraphrased, some changed in a
//! detail that must keep them apart.

/// A generated note.
pub struct GeneratedNote {
    /// The text.
    pub text: String,
    /// The number of the subject, equal for notes with one origin.
    pub subject: usize,
    /// The way in which it was derived from the origin.
    pub way: Way,
}

/// The way in which a note was generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Independently.
    Alone,
    /// Paraphrased with its clauses in the other order.
    Reordered,
    /// With two letters of a word swapped.
    Typo,
    /// With other case and punctuation.
    Case,
    /// With its number in words and additional words.
    Wordier,
    /// With another number.
    Number,
    /// With another identifier.
    Identifier,
    /// Negated.
    Denial,
    /// With another word.
    Word,
}

impl Way {
    /// All ways.
    pub const ALL: [Self; 9] = [
        Self::Alone,
        Self::Reordered,
        Self::Typo,
        Self::Case,
        Self::Wordier,
        Self::Number,
        Self::Identifier,
        Self::Denial,
        Self::Word,
    ];

    /// Whether the note is a duplicate of its origin.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "only the test holds both against each other")
    )]
    pub fn is_duplicate(self) -> bool {
        matches!(self, Self::Reordered | Self::Typo | Self::Case | Self::Wordier)
    }

    /// Returns the name in the report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Alone => "apart: made by itself",
            Self::Reordered => "paraphrased: clauses in the other order",
            Self::Typo => "paraphrased: two letters swapped",
            Self::Case => "paraphrased: case and punctuation",
            Self::Wordier => "paraphrased: number in words, additional words",
            Self::Number => "apart: another number",
            Self::Identifier => "apart: another identifier",
            Self::Denial => "apart: a denial",
            Self::Word => "apart: another word",
        }
    }
}

const SUBJECTS: [&str; 16] = [
    "payments worker",
    "cart service",
    "nightly export",
    "search indexer",
    "session store",
    "mail gateway",
    "stock importer",
    "invoice renderer",
    "webhook receiver",
    "shipping planner",
    "coupon engine",
    "login page",
    "report builder",
    "image resizer",
    "price calculator",
    "audit writer",
];
const VERBS: [&str; 12] = [
    "retry",
    "reload",
    "validate",
    "archive",
    "publish",
    "throttle",
    "compress",
    "encrypt",
    "schedule",
    "rotate",
    "replicate",
    "measure",
];
const QUALITIES: [&str; 12] = [
    "failed",
    "pending",
    "cached",
    "duplicate",
    "expired",
    "partial",
    "signed",
    "foreign",
    "recent",
    "broken",
    "manual",
    "temporary",
];
const OBJECTS: [&str; 14] = [
    "charges",
    "deliveries",
    "thumbnails",
    "tokens",
    "vouchers",
    "documents",
    "requests",
    "snapshots",
    "messages",
    "accounts",
    "baskets",
    "refunds",
    "catalogues",
    "certificates",
];
const CAUSES: [&str; 12] = [
    "the gateway drops connections under load",
    "the supplier sends its files late in the evening",
    "customers reload the page while it renders",
    "the replica lags behind during the backup",
    "the regulator asks for a complete history",
    "older clients repeat themselves after a timeout",
    "the disk of the staging machine is small",
    "two regions share a single queue",
    "the partner counts in another currency",
    "translations arrive after the release",
    "the scanner flags harmless attachments",
    "the licence forbids parallel downloads",
];
const NUMBERS: [&str; 8] = ["two", "three", "four", "five", "six", "seven", "eight", "nine"];

/// Generates notes, deterministically.
pub fn notes(count: usize) -> Vec<GeneratedNote> {
    let mut chance = Chance(7);
    let mut notes = Vec::with_capacity(count);
    for subject in 0.. {
        let note = Sentence::by(&mut chance, subject);
        notes.push(GeneratedNote { text: note.plain(), subject, way: Way::Alone });
        // Of three notes, two get derived notes as well.
        let way = match subject % 3 {
            0 => Way::ALL[1 + chance.below(4)],
            1 => Way::ALL[5 + chance.below(4)],
            _ => Way::Alone,
        };
        if way != Way::Alone {
            notes.push(GeneratedNote { text: note.rendered(way, &mut chance), subject, way });
        }
        if notes.len() >= count {
            break;
        }
    }
    notes.truncate(count);
    notes
}

/// The content of a note.
#[derive(Clone)]
struct Sentence {
    who: &'static str,
    denial: &'static str,
    does: &'static str,
    which: &'static str,
    what: &'static str,
    times: usize,
    cause: &'static str,
    name: String,
}

impl Sentence {
    fn by(chance: &mut Chance, subject: usize) -> Self {
        Self {
            who: chance.of(&SUBJECTS),
            denial: "",
            does: chance.of(&VERBS),
            which: chance.of(&QUALITIES),
            what: chance.of(&OBJECTS),
            times: chance.below(NUMBERS.len()),
            cause: chance.of(&CAUSES),
            name: format!("limit_{}_{}", chance.of(&VERBS), subject % 97),
        }
    }

    fn plain(&self) -> String {
        let Self { who, denial, does, which, what, cause, name, .. } = self;
        let times = self.times + 2;
        format!(
            "The {who} should {denial}{does} {which} {what} {times} times, because {cause}; see \
             `{name}`"
        )
    }

    fn rendered(&self, way: Way, chance: &mut Chance) -> String {
        let Self { who, does, which, what, cause, name, .. } = self;
        let times = self.times + 2;
        match way {
            Way::Alone => self.plain(),
            Way::Reordered => {
                format!(
                    "Because {cause}, the {who} should {does} {which} {what} {times} times (see \
                     `{name}`)"
                )
            }
            Way::Typo => swapped(&self.plain(), what),
            Way::Case => {
                let who = who.to_uppercase();
                format!(
                    "The {who} should {does} {which} {what} — {times} times — because {cause}! See \
                     {name}."
                )
            }
            Way::Wordier => {
                let times = NUMBERS[self.times];
                format!(
                    "Please note: the {who} should {does} the {which} {what} {times} times, \
                     because {cause}; see also `{name}`"
                )
            }
            Way::Number => {
                let times = (self.times + 1 + chance.below(NUMBERS.len() - 1)) % NUMBERS.len();
                Self { times, ..self.clone() }.plain()
            }
            Way::Identifier => Self { name: format!("{name}_soft"), ..self.clone() }.plain(),
            Way::Denial => Self { denial: "not ", ..self.clone() }.plain(),
            Way::Word => {
                let others: Vec<_> = QUALITIES.into_iter().filter(|other| other != which).collect();
                Self { which: chance.of(&others), ..self.clone() }.plain()
            }
        }
    }
}

/// Swaps two letters in the middle of a word.
fn swapped(text: &str, word: &str) -> String {
    let (front, back) = word.split_at(word.len() / 2);
    let mut letters: Vec<char> = back.chars().collect();
    letters.swap(0, 1);
    text.replacen(word, &format!("{front}{}", letters.into_iter().collect::<String>()), 1)
}

/// A deterministic pseudorandom number generator.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % end
    }

    fn of(&mut self, words: &[&'static str]) -> &'static str {
        words[self.below(words.len())]
    }
}
