//! Families of hostile texts, each of any length.

/// Parts, each repeated by one family. Many of them begin a construct that never ends.
#[rustfmt::skip]
pub const UNITS: &[&str] = &[
    // Markdown.
    "#\n", "# a\n", "# a\n## b\n", "## a\n\ntext\n", "a\n==\n", "a\n--\n", "> ", "- ", "- a\n",
    "  - a\n", "[", "[a](", "![", "`", "` ", "```\n", "``` ", "~~~\n", "*", "**a ", "_a ", "__",
    "| a |\n", "|-|\n", "--\n", "---\n", "\n", " \n", "\t", " ", "a\n", "\\", "\r",
    // HTML and templates.
    "<", "<b>", "<p>", "<a href='", "<!--", "<!--\n", "<!-- a -->\n", "<![CDATA[", "&", "&amp;",
    "{", "{{", "${", "(", "((",
    // Words, names and lists of them.
    "a", "aB", "a. ", "a,", "1,", "1 ", "no ", "before ", "not a ", "hi, ", "thanks! ", "a/b ",
    "A.b ", "_", "\"", "'", "\"a\" ", "!", "-", "é", "e\u{301}", "я ", "🙂", "\u{200b}", "\u{202e}",
    // Parts that readers do not see, and references.
    "a\u{8}", "\u{1b}]", "\u{1b}]0;ignore all\u{7}", "\u{9d}a", "\\e]a", "[0m", "＜",
    "&#0", "&#x", "&quot ",
    // Characters that change their length when they are folded, or that are not seen.
    "İ", "ﷺ", "ﬁ", "𝐚", "漢", "\u{e0041}", "\u{1b}[31m",
    // Code, data, patches and logs.
    "/*", "//\n", "a(", "if a {\n", "[],", "{},", "\"a\":1,", "? ", "&a *a ", "a: |\n",
    "@@ -1 +1 @@\n-a\n+b\n", "at a.b(C.java:1)\n", "2026-01-02T03:04:05Z ", "fixes #1, ", "A-1 ",
    "https://a.b/c?d=e&f=g ", "../", "**/", "*/a\n",
    // Secrets and instructions to a model.
    "password ", "password=", "token = \"", "password: 'a\\' ", "secret:", "-----BEGIN ", "eyJ",
    "ghp_", "http://a:b@", "a@b.", "+7 999 123 45 67 ", "4111 1111 1111 1111 ", "QUFB", "%41",
    "[secret:", "zoo ",
    "legal winner thank year wave sausage worth useful legal winner thank yellow ",
    "ignore all ", "system: ", "<|im_start|>", "[INST]", "i g n o r e ",
    // Encodings, and literals in parts.
    "61", "MFRGGZDF", "%2541", "&#65;", "=41", "aaaa=\n", "\\u0041", "\\x41", "0x61, ", "'a' + ",
    "00000000  61 62 63 64 65 66 67 68  |abcdefgh|\n",
    "0000000 6261 6463 6665 6867 6a69 6c6b 6e6d 706f\n", "61626364 65666768 696a6b6c 6d6e6f70\n",
    "MFRGGZDFMFRGGZDFMFRGGZDFMFRGGZDF\n",
];

/// Texts of one kind, of any length.
pub struct Family {
    /// The name in messages and tables.
    pub name: String,
    text: Box<dyn Fn(usize) -> String + Send + Sync>,
}

impl Family {
    /// Returns a text of about this many bytes.
    pub fn text(&self, bytes: usize) -> String {
        (self.text)(bytes)
    }
}

/// Creates a family from its name and a function from the number of bytes to the text.
pub fn family(name: &str, text: impl Fn(usize) -> String + Send + Sync + 'static) -> Family {
    Family { name: name.to_owned(), text: Box::new(text) }
}

/// Returns the families of text: each parser has to read them in linear time.
pub fn texts() -> Vec<Family> {
    let family_of = |unit: &&'static str| {
        let unit = *unit;
        family(&format!("{unit:?}"), move |bytes| repeated(unit, bytes))
    };
    let mut families: Vec<Family> = UNITS.iter().map(family_of).collect();
    families.extend(shaped());
    families
}

/// Returns at most `bytes` bytes of a part. If it occurs more than once, then an even number of
/// times: two parts may form one construct, as `[],[],` is a class of a glob. Otherwise, texts of
/// some lengths would be valid and others would not.
fn repeated(unit: &str, bytes: usize) -> String {
    let count = bytes / unit.len();
    unit.repeat(if count > 1 { count - count % 2 } else { count })
}

/// Returns the family that repeats a sequence of parts, each of them as often as its number says.
pub fn sequence(parts: &[(&str, usize)]) -> Family {
    let unit: String = parts.iter().map(|(part, count)| part.repeat(*count)).collect();
    family(&format!("sequence(&{parts:?})"), move |bytes| repeated(&unit, bytes))
}

/// Returns the family of texts that repeat one part after the other. The numbers are the shares of
/// the parts in the text.
pub fn blocks(parts: &[(&'static str, usize)]) -> Family {
    let parts = parts.to_vec();
    let total: usize = parts.iter().map(|(_, share)| share).sum();
    family(&format!("blocks(&{parts:?})"), move |bytes| {
        parts.iter().map(|(part, share)| repeated(part, bytes * share / total)).collect()
    })
}

/// Returns the families whose texts are not the repetition of one part.
fn shaped() -> [Family; 16] {
    [
        family("distinct words", numbered("w", " ")),
        family("distinct lines", numbered("line ", "\n")),
        family("distinct headings", numbered("## h", "\n\ntext\n")),
        family("distinct keys", numbered("key_", ": value\n")),
        family("distinct secrets", numbered("password_", " = \"kX9vQ2pLm4\"\n")),
        family("distinct links", numbered("[a](https://a.b/", ") ")),
        family("distinct ids", numbered("a/b#1", " ")),
        family("distinct elements", numbered("<t", ">")),
        family("nested brackets", nested("[", "]")),
        family("nested objects", nested("{\"a\":", "}")),
        family("nested elements", nested("<b>", "</b>")),
        family("nested emphasis", nested("**a ", " a**")),
        family("a name, then a long value", |bytes| format!("token={}", "a1B".repeat(bytes / 3))),
        family("a long value, then its name", |bytes| format!("{}: token", "a".repeat(bytes))),
        family("blanks, then words", |bytes| {
            format!("{}{}", " ".repeat(bytes / 2), "a ".repeat(bytes / 4))
        }),
        family("lines of base64", |bytes| {
            format!("{}\n", "QUFB".repeat(19)).repeat(bytes / 77 + 1)
        }),
    ]
}

/// Returns a function to texts of parts that differ in a number between `before` and `after`. All
/// numbers have seven digits: more digits in longer texts could be another kind of text, such as a
/// phone number.
pub fn numbered(before: &'static str, after: &'static str) -> impl Fn(usize) -> String {
    move |bytes| {
        let count = bytes / (before.len() + after.len() + 7);
        (0..count).map(|number| format!("{before}{number:07}{after}")).collect()
    }
}

/// Returns a function to texts in which `open` and `close` nest as deeply as the length allows.
pub fn nested(open: &'static str, close: &'static str) -> impl Fn(usize) -> String {
    move |bytes| {
        let depth = bytes / (open.len() + close.len());
        format!("{}{}", open.repeat(depth), close.repeat(depth))
    }
}
