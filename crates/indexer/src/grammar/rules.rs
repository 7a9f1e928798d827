//! Rules of each language: which nodes are definitions, and how their names are written.

use tree_sitter::Node;

use super::{Role, Rule, container, definition, names, transparent};

/// Names of functions.
pub(super) const BASH: &[Rule] = &[definition("function_definition", "function", "")];

/// Unqualified names: C has no qualified ones.
pub(super) const C: &[Rule] = &[
    definition("function_definition", "function", "").with_name(names::declarator),
    definition("declaration", "function", "").with_name(names::prototype),
    definition("struct_specifier", "struct", "").with_name(names::with_body),
    definition("union_specifier", "union", "").with_name(names::with_body),
    definition("enum_specifier", "enum", "").with_name(names::with_body),
    definition("type_definition", "type", "").with_name(names::declarator),
    definition("preproc_function_def", "macro", ""),
    transparent("preproc_ifdef"),
    transparent("preproc_if"),
    transparent("preproc_else"),
    transparent("preproc_elif"),
    transparent("linkage_specification"),
];

/// Names like `ns::Class::method`, for methods that are defined inside or outside of the class.
pub(super) const CPP: &[Rule] = &[
    container("namespace_definition", "namespace", "::"),
    container("class_specifier", "class", "::").with_name(names::with_body),
    container("struct_specifier", "struct", "::").with_name(names::with_body),
    definition("union_specifier", "union", "::").with_name(names::with_body),
    definition("enum_specifier", "enum", "::").with_name(names::with_body),
    definition("function_definition", "function", "::").with_name(names::declarator),
    definition("declaration", "function", "::").with_name(names::prototype),
    definition("field_declaration", "function", "::").with_name(names::prototype),
    definition("alias_declaration", "type", "::"),
    definition("type_definition", "type", "::").with_name(names::declarator),
    definition("concept_definition", "concept", "::"),
    definition("preproc_function_def", "macro", ""),
    transparent("template_declaration"),
    transparent("preproc_ifdef"),
    transparent("preproc_if"),
    transparent("preproc_else"),
    transparent("preproc_elif"),
    transparent("linkage_specification"),
];

/// Names like `Class.Method`, without the namespace.
pub(super) const CSHARP: &[Rule] = &[
    transparent("namespace_declaration"),
    container("class_declaration", "class", "."),
    container("struct_declaration", "struct", "."),
    container("interface_declaration", "interface", "."),
    container("record_declaration", "record", "."),
    definition("enum_declaration", "enum", "."),
    definition("delegate_declaration", "delegate", "."),
    definition("method_declaration", "method", "."),
    definition("constructor_declaration", "constructor", "."),
    definition("property_declaration", "property", "."),
    definition("local_function_statement", "function", "."),
];

/// Names like `Type.Method`, without the package.
pub(super) const GO: &[Rule] = &[
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

/// Names like `Class.method`, without the package.
pub(super) const JAVA: &[Rule] = &[
    container("class_declaration", "class", "."),
    container("interface_declaration", "interface", "."),
    container("enum_declaration", "enum", "."),
    container("record_declaration", "record", "."),
    container("annotation_type_declaration", "annotation", "."),
    definition("method_declaration", "method", "."),
    definition("constructor_declaration", "constructor", "."),
    definition("compact_constructor_declaration", "constructor", "."),
    transparent("enum_body_declarations"),
];

/// Names like `Class.method`, for both instance and static methods.
pub(super) const JAVASCRIPT: &[Rule] = &[
    definition("function_declaration", "function", "."),
    definition("generator_function_declaration", "function", "."),
    container("class_declaration", "class", "."),
    definition("method_definition", "method", "."),
    definition("variable_declarator", "function", ".").with_name(function_variable),
    definition("field_definition", "method", ".").with_name(function_field),
    definition("pair", "method", ".").with_name(function_pair),
    definition("assignment_expression", "function", ".").with_name(function_assigned),
    transparent("export_statement"),
];

const FUNCTIONS: &[&str] =
    &["arrow_function", "function_expression", "generator_function", "class"];

/// Reads the name in `const name = () => ...`.
fn function_variable(node: Node<'_>, text: &str) -> Option<String> {
    function_in(node, "value", "name", text)
}

/// Reads the name in `name = () => ...` of a class.
fn function_field(node: Node<'_>, text: &str) -> Option<String> {
    function_in(node, "value", "property", text)
}

/// Reads the name in `name: function () ...` of an object.
fn function_pair(node: Node<'_>, text: &str) -> Option<String> {
    function_in(node, "value", "key", text)
}

/// Returns `name` for `exports.name = ...`, and `Type.name` for `Type.prototype.name = ...`.
fn function_assigned(node: Node<'_>, text: &str) -> Option<String> {
    let name = function_in(node, "right", "left", text)?;
    let name = ["module.exports.", "exports.", "this."]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(&name);
    Some(name.replace(".prototype.", "."))
}

fn function_in(node: Node<'_>, value: &str, name: &str, text: &str) -> Option<String> {
    let is_function = FUNCTIONS.contains(&node.child_by_field_name(value)?.kind());
    is_function.then(|| names::read(node.child_by_field_name(name)?, text)).flatten()
}

/// Names like `Class.method` and `Class.Companion.method`, without the package.
pub(super) const KOTLIN: &[Rule] = &[
    container("class_declaration", "class", "."),
    container("object_declaration", "object", "."),
    container("companion_object", "object", ".").with_name(companion),
    definition("function_declaration", "function", "."),
    definition("secondary_constructor", "constructor", ".").with_name(constructor),
    definition("type_alias", "type", ".").with_name(alias),
];

fn companion(node: Node<'_>, text: &str) -> Option<String> {
    names::field(node, text).or_else(|| Some("Companion".into()))
}

#[expect(clippy::unnecessary_wraps, reason = "has the signature of NameOf")]
fn constructor(_: Node<'_>, _: &str) -> Option<String> {
    Some("constructor".into())
}

fn alias(node: Node<'_>, text: &str) -> Option<String> {
    names::read(node.child_by_field_name("type")?, text)
}

/// Names like `Ns\Class::method` and `Ns\function`.
pub(super) const PHP: &[Rule] = &[
    Rule::new("namespace_definition", "", Role::Package, "\\"),
    container("class_declaration", "class", "\\"),
    container("interface_declaration", "interface", "\\"),
    container("trait_declaration", "trait", "\\"),
    container("enum_declaration", "enum", "\\"),
    definition("method_declaration", "method", "::"),
    definition("function_definition", "function", "\\"),
];

/// Names like `Class.method`, and `outer.inner` for a function inside a function.
pub(super) const PYTHON: &[Rule] = &[
    container("class_definition", "class", "."),
    definition("function_definition", "function", "."),
    transparent("decorated_definition"),
];

/// Names like `Module::Class#method`, and `Module::Class.method` for class methods.
pub(super) const RUBY: &[Rule] = &[
    container("module", "module", "::").with_name(constant),
    container("class", "class", "::").with_name(constant),
    transparent("singleton_class").with_separator_inside("."),
    definition("method", "method", "#"),
    definition("singleton_method", "method", "."),
    definition("assignment", "constant", "::").with_name(assigned_constant),
];

/// Returns `Outer::Inner` for `::Outer::Inner`.
fn constant(node: Node<'_>, text: &str) -> Option<String> {
    names::field(node, text).map(|name| name.trim_start_matches("::").to_owned())
}

fn assigned_constant(node: Node<'_>, text: &str) -> Option<String> {
    let left = node.child_by_field_name("left")?;
    (left.kind() == "constant").then(|| names::read(left, text)).flatten()
}

/// Names like `Type::method`, without modules, as developers usually refer to methods.
pub(super) const RUST: &[Rule] = &[
    definition("function_item", "function", "::"),
    definition("function_signature_item", "function", "::"),
    definition("struct_item", "struct", "::"),
    definition("enum_item", "enum", "::"),
    definition("union_item", "union", "::"),
    definition("type_item", "type", "::"),
    definition("const_item", "constant", "::"),
    definition("static_item", "constant", "::"),
    definition("macro_definition", "macro", "::"),
    container("trait_item", "trait", "::"),
    Rule::new("impl_item", "", Role::Container, "::").with_name(implementor),
    transparent("mod_item"),
    transparent("foreign_mod_item"),
];

fn implementor(node: Node<'_>, text: &str) -> Option<String> {
    names::read(node.child_by_field_name("type")?, text)
}

/// Names like `Class.method` and `Namespace.Class.method`.
pub(super) const TYPESCRIPT: &[Rule] = &[
    definition("function_declaration", "function", "."),
    definition("generator_function_declaration", "function", "."),
    definition("function_signature", "function", "."),
    container("class_declaration", "class", "."),
    container("abstract_class_declaration", "class", "."),
    container("interface_declaration", "interface", "."),
    definition("enum_declaration", "enum", "."),
    definition("type_alias_declaration", "type", "."),
    container("internal_module", "namespace", "."),
    container("module", "namespace", "."),
    definition("method_definition", "method", "."),
    definition("method_signature", "method", "."),
    definition("abstract_method_signature", "method", "."),
    definition("variable_declarator", "function", ".").with_name(function_variable),
    definition("public_field_definition", "method", ".").with_name(function_variable),
    definition("pair", "method", ".").with_name(function_pair),
    definition("assignment_expression", "function", ".").with_name(function_assigned),
    transparent("export_statement"),
    transparent("ambient_declaration"),
    transparent("expression_statement"),
];
