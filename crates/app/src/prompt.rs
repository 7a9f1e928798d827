//! Questions to the person at the terminal.

use std::io::IsTerminal as _;

use anyhow::{Context as _, Result, bail, ensure};

use crate::output;

/// Whether a person can answer at standard input.
pub fn is_possible() -> bool {
    std::io::stdin().is_terminal()
}

/// Prints a question, and returns the line that the person types, without surrounding white space.
pub fn ask(question: &str) -> Result<String> {
    output::line(question);
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).context("standard input can't be read")?;
    Ok(answer.trim().to_owned())
}

/// Requires that the person types `name` after reading `consequence`, unless the command has
/// `--yes`.
pub fn require_consent(is_given: bool, consequence: &str, name: &str) -> Result<()> {
    if is_given {
        return Ok(());
    }
    if !is_possible() {
        bail!("{consequence} Standard input is not a terminal to confirm it at; add --yes");
    }
    let answer = ask(&format!("{consequence} Type {name} to confirm it:"))?;
    ensure!(answer == name, "not confirmed, so nothing was changed");
    Ok(())
}
