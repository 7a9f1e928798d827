use tree_sitter::Node;

use super::{Rule, container, definition, names, transparent};

/// Names like `Type.Method`, without the package.
pub(super) const RULES: &[Rule] = &[
    definition("function_declaration", "function", "."),
    definition("method_declaration", "method", ".").with_name(method),
    container("type_spec", "type", "."),
    definition("type_alias", "type", "."),
    definition("method_elem", "method", "."),
    transparent("type_declaration"),
];

/// Returns `Server.Close` for `func (s *Server[T]) Close()`.
fn method(node: Node<'_>, text: &str) -> Option<String> {
    let name = names::field(node, text)?;
    let receiver = node.child_by_field_name("receiver").and_then(|list| list.named_child(0));
    let receiver = receiver.and_then(|parameter| parameter.child_by_field_name("type"));
    let receiver = receiver.and_then(|kind| names::read(kind, text));
    Some(match receiver {
        Some(receiver) => {
            let receiver = receiver.trim_start_matches(['*', '(', ' ']);
            let end = receiver.find(['[', ')', ' ']).unwrap_or(receiver.len());
            format!("{}.{name}", &receiver[..end])
        }
        None => name,
    })
}
