//! A generated source tree that knows where each of its methods stands.

use std::collections::BTreeMap;
use std::ops::Range;

use rand::Rng;
use rand::rngs::StdRng;

use super::language::{Language, Step};

const WORDS: [&str; 12] = [
    "invoice", "parcel", "refund", "voucher", "ledger", "courier", "basket", "tariff", "customs",
    "payout", "rebate", "depot",
];

/// Longer than a chunk may be: the index keeps it in several.
const LONG_LINE_LETTERS: usize = 5_000;

/// Which method, for good: it keeps its number wherever it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MethodId(pub usize);

/// A method; its lines bear the indent of the body, not that of the class.
#[derive(Debug, Clone)]
pub struct Method {
    pub id: MethodId,
    pub name: String,
    pub lines: Vec<String>,
    /// Which of the lines a record cites, where it doesn't cite the whole by its name.
    pub cited: Range<usize>,
}

/// A file of one class.
#[derive(Debug, Clone)]
pub struct SourceFile {
    pub language: Language,
    pub class: String,
    pub preamble: Vec<String>,
    pub methods: Vec<Method>,
    pub has_crlf: bool,
}

/// The files by path, and the numbers that are still free.
#[derive(Debug, Default)]
pub struct Tree {
    pub files: BTreeMap<String, SourceFile>,
    next: u32,
}

impl Tree {
    /// `files` files in each language with `methods` methods each.
    pub fn generate(random: &mut StdRng, files: usize, methods: usize) -> Self {
        let mut tree = Self::default();
        let mut next = 0;
        for language in Language::ALL {
            for number in 0..files {
                let mut file = tree.file(language, number.is_multiple_of(3));
                for _ in 0..methods {
                    let method = tree.method(random, &file, MethodId(next));
                    file.methods.push(method);
                    next += 1;
                }
                let word = WORDS[number % WORDS.len()];
                let path =
                    format!("src/{word}/{}.{}", file.class.to_lowercase(), language.extension());
                tree.files.insert(path, file);
            }
        }
        tree
    }

    /// A number that nothing else in the tree has: what bears it is unlike all the rest.
    pub fn fresh(&mut self) -> u32 {
        self.next += 1;
        1_000 + self.next
    }

    fn file(&mut self, language: Language, has_long_line: bool) -> SourceFile {
        let class = format!("Account{}", self.fresh());
        let mut preamble = language.preamble(&class);
        if has_long_line {
            preamble.push(language.comment(&"long ".repeat(LONG_LINE_LETTERS / 5)));
        }
        SourceFile { language, class, preamble, methods: Vec::new(), has_crlf: false }
    }

    /// A method of two to eight steps, cited whole or in part by its number.
    pub fn method(&mut self, random: &mut StdRng, file: &SourceFile, id: MethodId) -> Method {
        let (language, number) = (file.language, self.fresh());
        let name = format!("settle_{}_{number}", WORDS[random.random_range(0..WORDS.len())]);
        let (first, last) = language.frame();
        let mut lines = vec![language.signature(&file.class, &name, None), first.to_owned()];
        for at in 0..random.random_range(2..=8) {
            let steps = [Step::Add, Step::Record, Step::Guard];
            let step = if at == 0 { Step::Add } else { steps[random.random_range(0..3)] };
            lines.extend(self.step(random, language, step));
        }
        lines.extend(last.iter().map(|line| (*line).to_owned()));
        let body = 2..lines.len() - last.len();
        let cited = if id.0 % 3 == 2 { part_of(random, body) } else { 0..lines.len() };
        Method { id, name, lines, cited }
    }

    /// The lines of a step with a variable and a number of its own.
    pub fn step(&mut self, random: &mut StdRng, language: Language, step: Step) -> Vec<String> {
        let word = WORDS[random.random_range(0..WORDS.len())];
        let name = format!("{word}_{}", self.fresh());
        language.step(step, &name, self.fresh())
    }

    /// Every method, with its file.
    pub fn methods(&self) -> impl Iterator<Item = (&str, &SourceFile, &Method)> {
        self.files.iter().flat_map(|(path, file)| {
            file.methods.iter().map(move |method| (path.as_str(), file, method))
        })
    }

    /// Where a method stands.
    pub fn place_of(&self, id: MethodId) -> Option<(String, usize)> {
        self.files.iter().find_map(|(path, file)| {
            let at = file.methods.iter().position(|method| method.id == id)?;
            Some((path.clone(), at))
        })
    }
}

/// Some lines of a body, among them the first step: it alone has numbers and operators for certain.
fn part_of(random: &mut StdRng, body: Range<usize>) -> Range<usize> {
    let most = body.len().min(6);
    body.start..body.start + random.random_range(2..=most)
}

impl SourceFile {
    /// The text without regard to line ends.
    pub fn text(&self) -> String {
        self.lines().0.join("\n")
    }

    /// The text as it is written.
    pub fn bytes(&self) -> String {
        let end = if self.has_crlf { "\r\n" } else { "\n" };
        self.lines().0.iter().map(|line| format!("{line}{end}")).collect()
    }

    /// The lines, and the 1-based first one of each method.
    fn lines(&self) -> (Vec<String>, Vec<usize>) {
        let (open, close) = self.language.class(&self.class);
        let mut lines = self.preamble.clone();
        lines.push(String::new());
        lines.extend(open);
        let mut starts = Vec::with_capacity(self.methods.len());
        for (at, method) in self.methods.iter().enumerate() {
            if at > 0 {
                lines.push(String::new());
            }
            starts.push(lines.len() + 1);
            let margin = self.language.margin();
            lines.extend(method.lines.iter().map(|line| format!("{margin}{line}")));
        }
        lines.extend(close);
        (lines, starts)
    }

    /// First and last line, from 1, of what is cited of the method at `at`.
    pub fn cited_lines(&self, at: usize) -> (i32, i32) {
        let (start, cited) = (self.lines().1[at], &self.methods[at].cited);
        let line = |index: usize| i32::try_from(start + index).expect("a short file");
        (line(cited.start), line(cited.end - 1))
    }
}
