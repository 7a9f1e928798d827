//! Navigations and commands, in a path.

use mc_domain::{CommandId, NavigationId};

path! {
    /// A navigation, in a path.
    NavigationPath {
        /// The handle.
        id: NavigationId,
    }

    /// A command of a navigation, in a path.
    CommandPath {
        /// The handle of the navigation.
        id: NavigationId,
        /// The command's id.
        command: CommandId,
    }
}
