//! Small methods in five languages.

/// A language of the generated code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Rust,
    Python,
    Ruby,
    TypeScript,
    Go,
}

/// One step of a generated method, over a variable named for the step.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// A fee in a variable, added to the total times a factor: two lines.
    Add,
    /// A call with the total.
    Record,
    /// A branch over the total.
    Guard,
}

impl Language {
    pub const ALL: [Self; 5] = [Self::Rust, Self::Python, Self::Ruby, Self::TypeScript, Self::Go];

    pub fn extension(self) -> &'static str {
        match self {
            Self::Rust => "rs",
            Self::Python => "py",
            Self::Ruby => "rb",
            Self::TypeScript => "ts",
            Self::Go => "go",
        }
    }

    pub fn comment(self, text: &str) -> String {
        match self {
            Self::Python | Self::Ruby => format!("# {text}"),
            Self::Rust | Self::TypeScript | Self::Go => format!("// {text}"),
        }
    }

    /// Returns the top of a file with this class.
    pub fn preamble(self, class: &str) -> Vec<String> {
        let lines: &[&str] = match self {
            Self::Rust => &["use crate::ledger::record;", "", "pub struct CLASS;"],
            Self::Python => &["from ledger import record"],
            Self::Ruby => &["require \"ledger\""],
            Self::TypeScript => &["import { record } from \"./ledger\";"],
            Self::Go => &["package ledger", "", "type CLASS struct{}"],
        };
        lines.iter().map(|line| line.replace("CLASS", class)).collect()
    }

    /// Returns the lines before and after the methods; none for top-level functions.
    pub fn class(self, class: &str) -> (Option<String>, Option<String>) {
        match self {
            Self::Rust => (Some(format!("impl {class} {{")), Some("}".into())),
            Self::Python => (Some(format!("class {class}:")), None),
            Self::Ruby => (Some(format!("class {class}")), Some("end".into())),
            Self::TypeScript => (Some(format!("export class {class} {{")), Some("}".into())),
            Self::Go => (None, None),
        }
    }

    /// Returns the indent of methods.
    pub fn margin(self) -> &'static str {
        match self {
            Self::Rust | Self::Python => "    ",
            Self::Ruby | Self::TypeScript => "  ",
            Self::Go => "",
        }
    }

    /// Returns the name as the index has it.
    pub fn qualified(self, class: &str, method: &str) -> String {
        let joint = match self {
            Self::Rust => "::",
            Self::Ruby => "#",
            Self::Python | Self::TypeScript | Self::Go => ".",
        };
        format!("{class}{joint}{method}")
    }

    /// Returns the first line of a method; `more` is a further parameter or empty.
    pub fn signature(self, class: &str, method: &str, more: Option<&str>) -> String {
        let with = |typed: &str| more.map(|name| format!(", {name}{typed}")).unwrap_or_default();
        match self {
            Self::Rust => format!("pub fn {method}(&self, count: i64{}) -> i64 {{", with(": i64")),
            Self::Python => format!("def {method}(self, count{}):", with("=0")),
            Self::Ruby => format!("def {method}(count{})", with(" = 0")),
            Self::TypeScript => format!("{method}(count: number{}): number {{", with(" = 0")),
            Self::Go => format!("func (c *{class}) {method}(count int{}) int {{", with(" int")),
        }
    }

    /// Returns the lines that begin and end the body.
    pub fn frame(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Rust => ("    let mut total = count;", &["    total", "}"]),
            Self::Python => ("    total = count", &["    return total"]),
            Self::Ruby => ("  total = count", &["  total", "end"]),
            Self::TypeScript => ("  let total = count;", &["  return total;", "}"]),
            Self::Go => ("\ttotal := count", &["\treturn total", "}"]),
        }
    }

    /// Returns a step of the body; `name` is its variable.
    pub fn step(self, step: Step, name: &str, number: u32) -> Vec<String> {
        let text = match (step, self) {
            (Step::Add, Self::Rust) => "let NAME = NUMBER;\ntotal += NAME * 3;",
            (Step::Add, Self::Python | Self::Ruby) => "NAME = NUMBER\ntotal += NAME * 3",
            (Step::Add, Self::TypeScript) => "const NAME = NUMBER;\ntotal += NAME * 3;",
            (Step::Add, Self::Go) => "NAME := NUMBER\ntotal += NAME * 3",
            (Step::Record, Self::Rust | Self::TypeScript) => "record(\"NAME\", total + NUMBER);",
            (Step::Record, Self::Python | Self::Ruby | Self::Go) => {
                "record(\"NAME\", total + NUMBER)"
            }
            (Step::Guard, Self::Rust | Self::Go) => "if total > NUMBER {\n\ttotal -= 2\n}",
            (Step::Guard, Self::TypeScript) => "if (total > NUMBER) {\n  total -= 2;\n}",
            (Step::Guard, Self::Python) => "if total > NUMBER:\n    total -= 2",
            (Step::Guard, Self::Ruby) => "if total > NUMBER\n  total -= 2\nend",
        };
        let text = text.replace("NAME", name).replace("NUMBER", &number.to_string());
        text.lines().map(|line| format!("{}{line}", self.indent())).collect()
    }

    /// Returns the indent of a body within its method.
    fn indent(self) -> &'static str {
        match self {
            Self::Rust | Self::Python => "    ",
            Self::Ruby | Self::TypeScript => "  ",
            Self::Go => "\t",
        }
    }
}
