//! How definitions are named: shared readers, used by the tables.

use tree_sitter::Node;

/// No name: the node only holds others.
pub(super) fn none(_: Node<'_>, _: &str) -> Option<String> {
    None
}

/// The field `name`.
pub(super) fn field(node: Node<'_>, text: &str) -> Option<String> {
    read(node.child_by_field_name("name")?, text)
}

/// The field `name` of a node that also has a `body`: a definition, not a mention.
pub(super) fn with_body(node: Node<'_>, text: &str) -> Option<String> {
    node.child_by_field_name("body")?;
    field(node, text)
}

/// What a C declarator declares: `*(*name)(int)` is `name`.
pub(super) fn declarator(node: Node<'_>, text: &str) -> Option<String> {
    declared(node, text).map(|(name, _)| name)
}

/// The name of a C declaration that declares a function.
pub(super) fn prototype(node: Node<'_>, text: &str) -> Option<String> {
    declared(node, text).filter(|(_, is_function)| *is_function).map(|(name, _)| name)
}

fn declared(node: Node<'_>, text: &str) -> Option<(String, bool)> {
    let mut node = node.child_by_field_name("declarator")?;
    let mut is_function = false;
    // Bounded, since declarators may nest as deep as the file is long.
    for _ in 0..32 {
        is_function |= node.kind() == "function_declarator";
        let next = node.child_by_field_name("declarator").or_else(|| {
            matches!(node.kind(), "reference_declarator" | "parenthesized_declarator")
                .then(|| node.named_child(0))
                .flatten()
        });
        match next {
            Some(inner) if node.kind() != "operator_cast" => node = inner,
            _ => return read(node, text).map(|name| (name, is_function)),
        }
    }
    None
}

/// The text of a name, on one line and without type arguments; `None` where it is too long to be
/// one (the parser guesses in broken code).
pub(super) fn read(node: Node<'_>, text: &str) -> Option<String> {
    const MAX_BYTES: usize = 200;
    let name = text.get(node.byte_range())?;
    if name.len() > MAX_BYTES || name.trim().is_empty() {
        return None;
    }
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(if name.contains("operator") { name } else { without_arguments(&name) })
}

/// `Vec<T>::push` as `Vec::push`.
fn without_arguments(name: &str) -> String {
    let mut depth = 0_usize;
    let mut kept = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            c if depth == 0 => kept.push(c),
            _ => {}
        }
    }
    kept.trim().to_owned()
}
