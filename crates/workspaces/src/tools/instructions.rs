//! The instructions of a phase, with the current directory.

use mc_contract::operations::workspace_tools;

use crate::navigation::{Navigation, Phase};
use crate::path::display;

/// Returns the instructions of the phase of a navigation.
pub fn instructions(navigation: &Navigation) -> String {
    let (phase, cwd) = (navigation.phase(), display(navigation.cwd()));
    let directory = match phase {
        Phase::Discovery => "current",
        Phase::Edit => "locked",
    };
    format!("{}\n\nThe {directory} directory is {cwd}.", workspace_tools::instructions(phase))
}
