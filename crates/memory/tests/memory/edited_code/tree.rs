//! A generated source tree that knows the place of each method.

use std::collections::BTreeMap;
use std::ops::Range;

use rand::Rng;
use rand::rngs::StdRng;

use super::language::{Language, Step};

const WORDS: [&str; 12] = [
    "invoice", "parcel", "refund", "voucher", "ledger", "courier", "basket", "tariff", "customs",
    "payout", "rebate", "depot",
];

/// Steps of a method longer than a chunk, which the index splits.
const LONG_LINE_LETTERS: usize = 5_000;

/// Number of a method, which stays when it moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MethodId(pub usize);

/// A method; its lines have the indent of the body, not of the class.
#[derive(Debug, Clone)]
pub struct Method {
    pub id: MethodId,
    pub name: String,
    pub lines: Vec<String>,
    /// Lines that a record cites; `None` if it cites the method by name.
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

/// The files by path, and the next unused number.
#[derive(Debug, Default)]
pub struct Tree {
    pub files: BTreeMap<String, SourceFile>,
    next: u32,
}

impl Tree {
    /// Generates `files` files per language with `methods` methods each.
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

    /// Returns an unused number, which makes its code unique in the tree.
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

    /// Generates a method of two to eight steps, cited whole or in part by its number.
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

    /// Generates a step with a variable and a number of its own.
    pub fn step(&mut self, random: &mut StdRng, language: Language, step: Step) -> Vec<String> {
        let word = WORDS[random.random_range(0..WORDS.len())];
        let name = format!("{word}_{}", self.fresh());
        language.step(step, &name, self.fresh())
    }

    /// Returns every method with its file.
    pub fn methods(&self) -> impl Iterator<Item = (&str, &SourceFile, &Method)> {
        self.files.iter().flat_map(|(path, file)| {
            file.methods.iter().map(move |method| (path.as_str(), file, method))
        })
    }

    /// Returns the file and index of a method.
    pub fn place_of(&self, id: MethodId) -> Option<(String, usize)> {
        self.files.iter().find_map(|(path, file)| {
            let at = file.methods.iter().position(|method| method.id == id)?;
            Some((path.clone(), at))
        })
    }
}

/// Returns some lines of a body, with the first step, as it surely has numbers and operators.
fn part_of(random: &mut StdRng, body: Range<usize>) -> Range<usize> {
    let most = body.len().min(6);
    body.start..body.start + random.random_range(2..=most)
}

impl SourceFile {
    /// Returns the text with normalized line ends.
    pub fn text(&self) -> String {
        self.lines().0.join("\n")
    }

    /// Returns the text as it is written.
    pub fn bytes(&self) -> String {
        let end = if self.has_crlf { "\r\n" } else { "\n" };
        self.lines().0.iter().map(|line| format!("{line}{end}")).collect()
    }

    /// Returns the lines, and the 1-based first line of each method.
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

    /// Returns the first and last cited line of the method at `at`, from 1.
    pub fn cited_lines(&self, at: usize) -> (i32, i32) {
        let (start, cited) = (self.lines().1[at], &self.methods[at].cited);
        let line = |index: usize| i32::try_from(start + index).expect("a short file");
        (line(cited.start), line(cited.end - 1))
    }
}
