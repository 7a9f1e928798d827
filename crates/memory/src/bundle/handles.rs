//! Handles: short names of the items in a bundle.

use mc_domain::{BundleSection as Section, Handle, HandleKind};

use super::{Bundle, LinkTarget};

/// The handles of a bundle, section by section, in the order shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handles([(Section, Vec<Handle>); 6]);

impl Handles {
    /// Returns each section with the handles of its items.
    pub fn by_section(&self) -> impl Iterator<Item = (Section, &[Handle])> {
        self.0.iter().map(|(section, handles)| (*section, handles.as_slice()))
    }

    /// Returns the handles of a section, in order.
    pub fn of(&self, section: Section) -> &[Handle] {
        self.by_section().find(|(of, _)| *of == section).map_or(&[], |(_, handles)| handles)
    }

    /// Returns all handles, in the order shown.
    pub fn in_order(&self) -> Vec<Handle> {
        self.0.iter().flat_map(|(_, handles)| handles.iter().copied()).collect()
    }
}

/// Assigns handles to a bundle's items: each letter is numbered separately, in the order shown.
pub fn handles(bundle: &Bundle) -> Handles {
    let mut next = Numbering::default();
    let link = |target: LinkTarget| match target {
        LinkTarget::Record(_) => HandleKind::Memory,
        LinkTarget::Doc(_) => HandleKind::Document,
    };
    Handles([
        (Section::Gotchas, next.name(bundle.gotchas.iter().map(|_| HandleKind::Memory))),
        (Section::Facts, next.name(bundle.facts.iter().map(|_| HandleKind::Memory))),
        (Section::FewShots, next.name(bundle.few_shots.iter().map(|_| HandleKind::Memory))),
        (Section::Links, next.name(bundle.links.iter().map(|item| link(item.target)))),
        (Section::Dialogs, next.name(bundle.dialogs.iter().map(|_| HandleKind::Dialog))),
        (Section::Code, next.name(bundle.code.iter().map(|_| HandleKind::Code))),
    ])
}

/// Number of handles assigned per letter.
#[derive(Default)]
struct Numbering([u16; HandleKind::ALL.len()]);

impl Numbering {
    fn name(&mut self, items: impl Iterator<Item = HandleKind>) -> Vec<Handle> {
        let name = |kind: HandleKind| {
            let number = &mut self.0[kind as usize];
            *number = number.saturating_add(1);
            Handle { kind, number: *number }
        };
        items.map(name).collect()
    }
}
