//! Canaries: secrets and personal data that are sent and must be found nowhere afterwards. Each is
//! unique, so that a match shows where it was sent.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

/// The kind of a canary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    GithubToken,
    AwsPair,
    Jwt,
    PrivateKey,
    Connection,
    SlackHook,
    Password,
    Mail,
    Phone,
    Card,
    Iban,
}

/// The form in which a canary is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Plain,
    Json,
    Yaml,
    Env,
    Ruby,
    Url,
    Base64,
    Percent,
    Split,
}

impl Kind {
    pub const ALL: [Self; 11] = [
        Self::GithubToken,
        Self::AwsPair,
        Self::Jwt,
        Self::PrivateKey,
        Self::Connection,
        Self::SlackHook,
        Self::Password,
        Self::Mail,
        Self::Phone,
        Self::Card,
        Self::Iban,
    ];
    /// Kinds that are one word of at most 120 characters and need no word before them.
    pub const WORDS: [Self; 4] = [Self::GithubToken, Self::Connection, Self::SlackHook, Self::Mail];

    /// One of each sort, for slow operations.
    pub const SOME: [Self; 4] = [Self::GithubToken, Self::Jwt, Self::Password, Self::Mail];

    pub fn is_personal(self) -> bool {
        matches!(self, Self::Mail | Self::Phone | Self::Card | Self::Iban)
    }
}

impl Form {
    pub const ALL: [Self; 9] = [
        Self::Plain,
        Self::Json,
        Self::Yaml,
        Self::Env,
        Self::Ruby,
        Self::Url,
        Self::Base64,
        Self::Percent,
        Self::Split,
    ];
}

/// A text with a canary.
#[derive(Debug, Clone)]
pub struct Canary {
    /// The place, kind and form in which it was sent.
    pub what: String,
    /// The text that was sent.
    pub text: String,
    /// Parts of the text that must not be found.
    pub marks: Vec<String>,
}

/// A generator of unique canaries.
#[derive(Default)]
pub struct CanaryGenerator {
    state: u64,
    pub generated: Vec<Canary>,
}

/// A canary without context.
struct GeneratedValue {
    /// The text before it.
    lead: String,
    /// The value, which may have several lines.
    value: String,
    /// The name that identifies it, if it has no format of its own.
    name: &'static str,
    marks: Vec<String>,
}

impl CanaryGenerator {
    /// Generates one word.
    pub fn word(&mut self, place: &str, kind: Kind) -> String {
        let generated = self.draw(kind);
        self.keep(place, kind, Form::Plain, generated.value, generated.marks)
    }

    /// Generates a text of some lines in the given form.
    pub fn text(&mut self, place: &str, kind: Kind, form: Form) -> String {
        let generated = self.draw(kind);
        let (text, disguised) = written(&generated, form);
        let marks = [generated.marks, disguised].concat();
        self.keep(place, kind, form, text, marks)
    }

    /// Generates every kind in every form.
    pub fn everything(&mut self, place: &str) -> String {
        let mut text = String::new();
        for kind in Kind::ALL {
            // Code does not concatenate the literals of a personal number.
            let forms = Form::ALL.into_iter();
            for form in forms.filter(|form| *form != Form::Split || !kind.is_personal()) {
                text.push_str(&self.text(place, kind, form));
                text.push_str("\n\nThe carts of the shop are emptied at night.\n\n");
            }
        }
        text
    }

    fn keep(
        &mut self,
        place: &str,
        kind: Kind,
        form: Form,
        text: String,
        marks: Vec<String>,
    ) -> String {
        let what = format!("{place}, {kind:?} as {form:?}");
        assert!(marks.iter().all(|mark| mark.len() >= 10), "{what}: {marks:?}");
        self.generated.push(Canary { what, text: text.clone(), marks });
        text
    }

    fn draw(&mut self, kind: Kind) -> GeneratedValue {
        match kind {
            Kind::GithubToken => {
                let random = self.generate(LETTERS, 30);
                let token = format!("ghp_{random}{}", checksum(&random));
                GeneratedValue::marked(token.clone(), &[&token[4..18], &token[20..]])
            }
            Kind::AwsPair => {
                let id = format!("AKIA{}", self.generate("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16));
                let secret = self.generate(LETTERS, 40);
                let name = "aws_secret_access_key";
                let lead = format!("aws_access_key_id = {id}\n");
                let marks = [&id[4..], &secret[..16], &secret[20..]];
                GeneratedValue { lead, name, ..GeneratedValue::marked(secret.clone(), &marks) }
            }
            Kind::Jwt => {
                let part = |text: String| URL_SAFE_NO_PAD.encode(text);
                let subject = self.generate(LETTERS, 20);
                let head = part(r#"{"alg":"HS256","typ":"JWT"}"#.to_owned());
                let claims = part(format!(r#"{{"sub":"{subject}","iat":1700000000}}"#));
                let signature = self.generate(LETTERS, 43);
                let value = format!("{head}.{claims}.{signature}");
                GeneratedValue::marked(
                    value,
                    &[&claims[12..30], &signature[..20], &signature[22..]],
                )
            }
            Kind::PrivateKey => {
                let lines: Vec<_> = (0..4).map(|_| self.generate(LETTERS, 64)).collect();
                let marks: Vec<_> = lines.iter().map(|line| &line[..40]).collect();
                let label = ["RSA PRIVATE", "KEY"].join(" ");
                let value =
                    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----", lines.join("\n"));
                GeneratedValue::marked(value, &marks)
            }
            Kind::Connection => {
                let password = self.generate(LETTERS, 18);
                let value = format!("postgres://shop:{password}@db.internal:5432/shop");
                GeneratedValue::marked(value, &[&password])
            }
            Kind::SlackHook => {
                let upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
                let (team, webhook) = (self.generate(upper, 10), self.generate(upper, 10));
                let secret = self.generate(LETTERS, 24);
                let host = ["hooks", "slack", "com"].join(".");
                let value = format!("https://{host}/services/T{team}/B{webhook}/{secret}");
                GeneratedValue::marked(value, &[&secret])
            }
            Kind::Password => {
                let value = self.generate(LETTERS, 20);
                GeneratedValue::named("password", value.clone(), value)
            }
            Kind::Mail => {
                let word = self.generate("abcdefghijklmnopqrstuvwxyz", 8);
                let value = format!("ada.{word}@{word}-mail.org");
                GeneratedValue::named("mail", value, format!("ada.{word}"))
            }
            Kind::Phone => {
                let number = self.generate("0123456789", 6);
                let value = format!("+44 7911 1{}{}", &number[..2], &number[3..]);
                GeneratedValue::named("phone", value.clone(), value[4..].to_owned())
            }
            Kind::Card => {
                let body = format!("4{}", self.generate("0123456789", 14));
                let value = format!("{body}{}", luhn(&body));
                GeneratedValue::named("card", value.clone(), value)
            }
            Kind::Iban => {
                let account = self.generate("0123456789", 18);
                let value = format!("DE{:02}{account}", iban_check(&account));
                GeneratedValue::named("iban", value, account)
            }
        }
    }

    /// Generates a value with digits: one of letters only could be a word.
    fn generate(&mut self, alphabet: &str, length: usize) -> String {
        let alphabet: Vec<char> = alphabet.chars().collect();
        let digits: Vec<char> = ('2'..='7').collect();
        let draw = |at: usize| {
            let from = if alphabet.len() > 26 && at % 5 == 3 { &digits } else { &alphabet };
            from[self.next() % from.len()]
        };
        (0..length).map(draw).collect()
    }

    /// Returns the next number of splitmix64, so that all runs have the same canaries.
    fn next(&mut self) -> usize {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) >> 8).expect("56 bits")
    }
}

impl GeneratedValue {
    fn marked(value: String, marks: &[&str]) -> Self {
        let marks = marks.iter().map(|mark| (*mark).to_owned()).collect();
        Self { lead: String::new(), value, name: "value", marks }
    }

    /// Creates a value that is identified by its name.
    fn named(name: &'static str, value: String, mark: String) -> Self {
        Self { lead: String::new(), value, name, marks: vec![mark] }
    }
}

const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Writes a canary in a form, and returns the parts that remain visible in an encoded form.
fn written(generated: &GeneratedValue, form: Form) -> (String, Vec<String>) {
    let GeneratedValue { lead, value, name, marks } = generated;
    let escaped = value.replace('\n', "\\n");
    let named = format!("{lead}{name} = \"{value}\"");
    let text = match form {
        Form::Plain => format!("The {name} is \"{value}\" as of today."),
        Form::Json => format!("{{\"user\": \"shop\", \"{name}\": \"{escaped}\"}}"),
        Form::Yaml if value.contains('\n') => {
            format!("shop:\n  {name}: |\n    {}", value.replace('\n', "\n    "))
        }
        Form::Yaml => format!("shop:\n  {name}: {value}"),
        Form::Env => format!("{}=\"{escaped}\"", name.to_uppercase()),
        Form::Ruby => format!("config.{name} = '{value}' # of the shop"),
        Form::Url => format!("https://shop.example.org/in?{name}={}&x=1", percent(value, false)),
        Form::Base64 => {
            let encoded = STANDARD.encode(&named);
            let mark = encoded[16..encoded.len() - 4].to_owned();
            return (format!("Encoded it is {encoded} for the shop."), vec![mark]);
        }
        Form::Percent => {
            let encoded = percent(&named, true);
            let marks = marks.iter().map(|mark| percent(mark, true)).collect();
            return (format!("https://shop.example.org/?q={encoded}"), marks);
        }
        Form::Split => {
            let (head, tail) = escaped.split_at(escaped.len() / 2);
            format!("{name} = \"{head}\" +\n  \"{tail}\"")
        }
    };
    (format!("{lead}{text}"), Vec::new())
}

/// Percent-encodes all characters, or only those that must be.
fn percent(text: &str, all: bool) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' if !all => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

/// Returns the last characters of a GitHub token: the CRC-32 of those before, in base 62.
fn checksum(random: &str) -> String {
    let digits = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut number = crc32fast::hash(random.as_bytes());
    let mut text = [b'0'; 6];
    for place in text.iter_mut().rev() {
        *place = digits[(number % 62) as usize];
        number /= 62;
    }
    String::from_utf8(text.to_vec()).expect("digits")
}

fn luhn(body: &str) -> u32 {
    let digits = body.chars().rev().filter_map(|c| c.to_digit(10)).enumerate();
    let sum: u32 = digits
        .map(|(at, digit)| match (at % 2, digit * 2) {
            (0, double) if double > 9 => double - 9,
            (0, double) => double,
            _ => digit,
        })
        .sum();
    (10 - sum % 10) % 10
}

/// Returns the check digits of a German IBAN.
fn iban_check(account: &str) -> u32 {
    let digits = format!("{account}131400");
    98 - digits
        .chars()
        .filter_map(|c| c.to_digit(10))
        .fold(0, |rest, digit| (rest * 10 + digit) % 97)
}

#[test]
fn every_canary_is_masked_by_itself() {
    let mut generator = CanaryGenerator::default();
    generator.everything("alone");
    for kind in Kind::WORDS {
        generator.word("a word", kind);
    }
    let leaks = generator.generated.iter().filter(|canary| {
        let masked = mc_sanitizer::mask(&canary.text).text.into_string().to_lowercase();
        canary.marks.iter().any(|mark| masked.contains(&mark.to_lowercase()))
    });
    let leaks: Vec<_> = leaks.map(|canary| format!("{}:\n{}", canary.what, canary.text)).collect();
    assert!(
        leaks.is_empty(),
        "{} of {}:\n{}",
        leaks.len(),
        generator.generated.len(),
        leaks.join("\n")
    );
}
