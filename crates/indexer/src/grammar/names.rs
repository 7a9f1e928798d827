//! Readers of the names of definitions, shared by the tables.

use tree_sitter::Node;

/// Returns no name, for a node that only contains definitions.
pub(super) fn none(_: Node<'_>, _: &str) -> Option<String> {
    None
}

/// Reads the field `name`.
pub(super) fn field(node: Node<'_>, text: &str) -> Option<String> {
    read(node.child_by_field_name("name")?, text)
}

/// Reads the field `name` of a node with a `body`; without one, it is a mention, not a definition.
pub(super) fn with_body(node: Node<'_>, text: &str) -> Option<String> {
    node.child_by_field_name("body")?;
    field(node, text)
}

/// Reads the name in a C declarator, such as `name` in `*(*name)(int)`.
pub(super) fn declarator(node: Node<'_>, text: &str) -> Option<String> {
    declared(node, text).map(|(name, _)| name)
}

/// Reads the name in a C declaration of a function.
pub(super) fn prototype(node: Node<'_>, text: &str) -> Option<String> {
    declared(node, text).filter(|(_, is_function)| *is_function).map(|(name, _)| name)
}

fn declared(node: Node<'_>, text: &str) -> Option<(String, bool)> {
    let mut node = node.child_by_field_name("declarator")?;
    let mut is_function = false;
    // Bounded, because declarators may nest as deep as the file is long.
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

/// Reads a name as one line without type arguments; `None` if it is too long, which happens when
/// the parser misreads broken code.
pub(super) fn read(node: Node<'_>, text: &str) -> Option<String> {
    const MAX_BYTES: usize = 200;
    let name = text.get(node.byte_range())?;
    if name.len() > MAX_BYTES || name.trim().is_empty() {
        return None;
    }
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(if name.contains("operator") { name } else { without_arguments(&name) })
}

/// Returns `Vec::push` for `Vec<T>::push`.
fn without_arguments(name: &str) -> String {
    let mut depth = 0_usize;
    let mut plain = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            c if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    plain.trim().to_owned()
}
