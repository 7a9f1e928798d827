#![doc = include_str!("../README.md")]

mod confinement;
mod privileges;
mod user;

pub use confinement::Confinement;
pub use privileges::{
    RaisedPrivileges, drop_unused_capabilities, is_root, lower_privileges, raise_privileges,
    without_capabilities,
};
pub use user::{FileAccess, UnprivilegedUser};
