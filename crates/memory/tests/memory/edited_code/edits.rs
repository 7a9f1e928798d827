//! Edits as people make them, each with its effect on the citations.

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use super::language::Step;
use super::tree::{Method, MethodId, SourceFile, Tree};

/// Changes the cited lines of one method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edit {
    Literal,
    Operator,
    VariableRenamed,
    LineInserted,
    LineDeleted,
    LinesSwapped,
    Blanks,
    Comment,
    Signature,
    MethodRenamed,
    MethodDeleted,
}

/// Changes no cited line and moves many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Harmless {
    LinesAbove,
    MethodAdded,
    MethodsReordered,
    BesideTheCited,
    LineEnds,
}

impl Edit {
    pub const ALL: [Self; 11] = [
        Self::Literal,
        Self::Operator,
        Self::VariableRenamed,
        Self::LineInserted,
        Self::LineDeleted,
        Self::LinesSwapped,
        Self::Blanks,
        Self::Comment,
        Self::Signature,
        Self::MethodRenamed,
        Self::MethodDeleted,
    ];

    /// Whether there is something to edit within the cited lines.
    pub fn applies_to(self, method: &Method) -> bool {
        let needs_signature = matches!(self, Self::Signature | Self::MethodRenamed);
        !needs_signature || method.cited.start == 0
    }

    /// Makes the edit. Every citation covers an addition: two lines that come first in it or follow
    /// the two that open the method.
    pub fn apply(self, tree: &mut Tree, random: &mut StdRng, path: &str, at: usize) {
        let number = tree.fresh();
        let inserted = tree.step(random, tree.files[path].language, Step::Record);
        let file = tree.files.get_mut(path).expect("the file of the method");
        let (language, class) = (file.language, file.class.clone());
        let method = &mut file.methods[at];
        let cited = method.cited.clone();
        let variable = cited.start.max(2);
        let addition = variable + 1;
        let lines = &mut method.lines;
        match self {
            Self::Literal => {
                let value = lines[variable].split_once("= ").expect("an assignment").1.to_owned();
                let end = if value.ends_with(';') { ";" } else { "" };
                lines[variable] = lines[variable].replace(&value, &format!("{number}{end}"));
            }
            Self::Operator => lines[addition] = lines[addition].replace("+=", "-="),
            Self::VariableRenamed => {
                let old = variable_of(&lines[variable]);
                let new = format!("surcharge_{number}");
                for line in lines.iter_mut() {
                    *line = line.replace(&old, &new);
                }
            }
            Self::LineInserted => {
                // Around the addition, where it breaks no branch.
                let inside = variable.max(cited.start + 1)..cited.end.min(addition + 2);
                let line = random.random_range(inside);
                lines.splice(line..line, inserted);
            }
            Self::LineDeleted => drop(lines.remove(addition)),
            Self::LinesSwapped => lines.swap(variable, addition),
            Self::Blanks => lines[addition] = lines[addition].replace(" * ", "*"),
            Self::Comment => {
                lines[addition] += &format!("  {}", language.comment(&format!("see PAY-{number}")));
            }
            Self::Signature => {
                let more = format!("limit_{number}");
                lines[0] = language.signature(&class, &method.name, Some(&more));
            }
            Self::MethodRenamed => {
                method.name = format!("close_account_{number}");
                lines[0] = language.signature(&class, &method.name, None);
            }
            Self::MethodDeleted => drop(file.methods.remove(at)),
        }
    }
}

impl Harmless {
    pub const ALL: [Self; 5] = [
        Self::LinesAbove,
        Self::MethodAdded,
        Self::MethodsReordered,
        Self::BesideTheCited,
        Self::LineEnds,
    ];

    /// Makes the edit somewhere in the file.
    pub fn apply(self, tree: &mut Tree, random: &mut StdRng, path: &str) {
        let mut file = tree.files.remove(path).expect("a file");
        let at = random.random_range(0..file.methods.len());
        match self {
            Self::LinesAbove => {
                let comment = file.language.comment(&format!("As of PAY-{}.", tree.fresh()));
                let count = random.random_range(1..6);
                file.preamble.extend(std::iter::repeat_n(comment, count));
            }
            Self::MethodAdded => {
                let id = MethodId(usize::try_from(tree.fresh()).expect("a small number"));
                let method = tree.method(random, &file, id);
                file.methods.insert(at, method);
            }
            Self::MethodsReordered => file.methods.rotate_left(at),
            Self::BesideTheCited => beside_the_cited(tree, random, &mut file),
            Self::LineEnds => file.has_crlf = !file.has_crlf,
        }
        tree.files.insert(path.to_owned(), file);
    }
}

/// Adds a step before or behind the cited part of every method that is cited in part.
fn beside_the_cited(tree: &mut Tree, random: &mut StdRng, file: &mut SourceFile) {
    let language = file.language;
    for method in file.methods.iter_mut().filter(|method| method.cited.start > 0) {
        let step = tree.step(random, language, Step::Record);
        if random.random_bool(0.5) {
            let start = method.cited.start;
            method.cited = start + step.len()..method.cited.end + step.len();
            method.lines.splice(start..start, step);
        } else {
            let end = method.lines.len() - language.frame().1.len();
            method.lines.splice(end..end, step);
        }
    }
}

/// The variable that a line assigns to.
fn variable_of(line: &str) -> String {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = line.split(|c| !is_name(c));
    words.find(|word| word.contains('_')).expect("a variable").to_owned()
}

/// The path of a file that has a method.
pub fn any_path(tree: &Tree, random: &mut StdRng) -> String {
    let has_methods = tree.files.iter().filter(|(_, file)| !file.methods.is_empty());
    let paths: Vec<_> = has_methods.map(|(path, _)| path).collect();
    (*paths.choose(random).expect("a file")).clone()
}
