//! From the parser's tree to ours: the same definitions, each with its position.

use pilota_thrift_parser as parsed;

use crate::cursor::Cursor;
use crate::error::Position;
use crate::syntax::{
    Body, EnumValue, Field, Item, Method, Name, Namespace, Requiredness, Service, Shape, Tree,
    TypeKind, TypeRef, Value, ValueKind,
};

/// Gives every part of a parsed file its place.
pub(crate) fn tree(file: &parsed::File, cursor: &mut Cursor<'_>) -> Tree {
    let mut tree = Tree::default();
    for item in &file.items {
        add_item(&mut tree, item, cursor);
    }
    tree
}

fn add_item(tree: &mut Tree, item: &parsed::Item, cursor: &mut Cursor<'_>) {
    let docs = cursor.docs_before();
    match item {
        parsed::Item::Include(include) => tree.includes.push(include_of(&include.path, cursor)),
        parsed::Item::CppInclude(_) => {
            cursor.literal();
        }
        parsed::Item::Namespace(namespace) => tree.namespaces.push(namespace_of(namespace, cursor)),
        parsed::Item::Typedef(typedef) => tree.items.push(typedef_of(typedef, docs, cursor)),
        parsed::Item::Constant(constant) => tree.items.push(constant_of(constant, docs, cursor)),
        parsed::Item::Enum(item) => tree.items.push(enum_of(item, docs, cursor)),
        parsed::Item::Struct(item) => {
            tree.items.push(struct_of(Shape::Struct, "struct", item, docs, cursor));
        }
        parsed::Item::Union(item) => {
            tree.items.push(struct_of(Shape::Union, "union", item, docs, cursor));
        }
        parsed::Item::Exception(item) => {
            tree.items.push(struct_of(Shape::Exception, "exception", item, docs, cursor));
        }
        parsed::Item::Service(service) => tree.items.push(service_of(service, docs, cursor)),
    }
}

fn include_of(path: &parsed::Literal, cursor: &mut Cursor<'_>) -> Name {
    cursor.word("include");
    Name { text: path.0.clone(), at: cursor.literal() }
}

fn namespace_of(namespace: &parsed::Namespace, cursor: &mut Cursor<'_>) -> Namespace {
    cursor.word("namespace");
    let path: Vec<_> = namespace.name.segments.iter().map(|part| part.to_string()).collect();
    // A scope such as `py.twisted` may have words that the path has too: step over it first.
    if namespace.scope.0 == "*" {
        cursor.mark("*");
    } else {
        cursor.path(namespace.scope.0.split('.'));
    }
    cursor.path(path.iter().map(String::as_str));
    annotations(namespace.annotations.as_ref().unwrap_or(&parsed::Annotations::default()), cursor);
    Namespace { scope: namespace.scope.0.clone(), path }
}

fn typedef_of(typedef: &parsed::Typedef, docs: Vec<String>, cursor: &mut Cursor<'_>) -> Item {
    cursor.word("typedef");
    let target = type_of(&typedef.r#type, cursor);
    let name = name(&typedef.alias, cursor);
    let annotations = annotations(&typedef.annotations, cursor);
    Item { name, docs: with_trailing(docs, cursor), annotations, body: Body::Typedef(target) }
}

fn constant_of(constant: &parsed::Constant, docs: Vec<String>, cursor: &mut Cursor<'_>) -> Item {
    cursor.word("const");
    let ty = type_of(&constant.r#type, cursor);
    let name = name(&constant.name, cursor);
    let value = value_of(&constant.value, cursor);
    let annotations = annotations(&constant.annotations, cursor);
    Item { name, docs: with_trailing(docs, cursor), annotations, body: Body::Constant(ty, value) }
}

fn enum_of(item: &parsed::Enum, docs: Vec<String>, cursor: &mut Cursor<'_>) -> Item {
    cursor.word("enum");
    let name = name(&item.name, cursor);
    cursor.mark("{");
    let values = item.values.iter().map(|value| enum_value_of(value, cursor)).collect();
    cursor.mark("}");
    let annotations = annotations(&item.annotations, cursor);
    Item { name, docs, annotations, body: Body::Enum(values) }
}

fn enum_value_of(value: &parsed::EnumValue, cursor: &mut Cursor<'_>) -> EnumValue {
    let docs = cursor.docs_before();
    let name = name(&value.name, cursor);
    let number = value.value.map(|number| (number.0, cursor.number()));
    let annotations = annotations(&value.annotations, cursor);
    EnumValue { name, number, docs: with_trailing(docs, cursor), annotations }
}

fn struct_of(
    shape: Shape,
    keyword: &str,
    item: &parsed::StructLike,
    docs: Vec<String>,
    cursor: &mut Cursor<'_>,
) -> Item {
    cursor.word(keyword);
    let name = name(&item.name, cursor);
    cursor.mark("{");
    let fields = item.fields.iter().map(|field| field_of(field, cursor)).collect();
    cursor.mark("}");
    let annotations = annotations(&item.annotations, cursor);
    Item { name, docs, annotations, body: Body::Struct(shape, fields) }
}

fn field_of(field: &parsed::Field, cursor: &mut Cursor<'_>) -> Field {
    let docs = cursor.docs_before();
    let id_at = cursor.number();
    let requiredness = match field.attribute {
        parsed::Attribute::Required => Requiredness::Required,
        parsed::Attribute::Optional => Requiredness::Optional,
        parsed::Attribute::Default => Requiredness::Default,
    };
    let ty = type_of(&field.ty, cursor);
    let name = name(&field.name, cursor);
    let default = field.default.as_ref().map(|value| value_of(value, cursor));
    let annotations = annotations(&field.annotations, cursor);
    let docs = with_trailing(docs, cursor);
    Field { id: field.id, id_at, name, requiredness, ty, default, docs, annotations }
}

fn service_of(service: &parsed::Service, docs: Vec<String>, cursor: &mut Cursor<'_>) -> Item {
    cursor.word("service");
    let name = name(&service.name, cursor);
    let extends = service.extends.as_ref().map(|path| {
        cursor.word("extends");
        let (text, at) = path_of(path, cursor);
        Name { text, at }
    });
    cursor.mark("{");
    let methods = service.functions.iter().map(|method| method_of(method, cursor)).collect();
    cursor.mark("}");
    let annotations = annotations(&service.annotations, cursor);
    Item { name, docs, annotations, body: Body::Service(Service { extends, methods }) }
}

fn method_of(method: &parsed::Function, cursor: &mut Cursor<'_>) -> Method {
    let docs = cursor.docs_before();
    if method.oneway {
        cursor.word("oneway");
    }
    let result = type_of(&method.result_type, cursor);
    let name = name(&method.name, cursor);
    cursor.mark("(");
    let arguments = method.arguments.iter().map(|field| argument_of(field, cursor)).collect();
    cursor.mark(")");
    if !method.throws.is_empty() {
        cursor.word("throws");
    }
    let throws = method.throws.iter().map(|field| field_of(field, cursor)).collect();
    let annotations = annotations(&method.annotations, cursor);
    let docs = with_trailing(docs, cursor);
    Method { name, oneway: method.oneway, result, arguments, throws, docs, annotations }
}

/// The parser makes every argument required that is not optional. Others need not send one that has
/// no value, so a missing argument is its default, as in Apache's compiler.
fn argument_of(field: &parsed::Field, cursor: &mut Cursor<'_>) -> Field {
    let field = field_of(field, cursor);
    match field.requiredness {
        Requiredness::Required => Field { requiredness: Requiredness::Default, ..field },
        _ => field,
    }
}

fn name(name: &parsed::Ident, cursor: &mut Cursor<'_>) -> Name {
    Name { text: name.to_string(), at: cursor.word(name) }
}

fn path_of(path: &parsed::Path, cursor: &mut Cursor<'_>) -> (String, Position) {
    let segments: Vec<_> = path.segments.iter().map(parsed::Ident::as_str).collect();
    let at = cursor.path(segments.iter().copied());
    (segments.join("."), at)
}

fn annotations(found: &parsed::Annotations, cursor: &mut Cursor<'_>) -> Vec<(String, String)> {
    let claim = |annotation: &parsed::Annotation| {
        cursor.literal();
        (annotation.key.clone(), annotation.value.0.clone())
    };
    let pairs: Vec<_> = found.iter().map(claim).collect();
    if !pairs.is_empty() {
        cursor.mark(")");
    }
    pairs
}

fn with_trailing(mut docs: Vec<String>, cursor: &Cursor<'_>) -> Vec<String> {
    let behind = cursor.docs_behind();
    if !docs.is_empty() && !behind.is_empty() {
        docs.push(String::new());
    }
    docs.extend(behind);
    docs
}

fn type_of(ty: &parsed::Type, cursor: &mut Cursor<'_>) -> TypeRef {
    let found = kind_of(&ty.0, cursor);
    annotations(&ty.1, cursor);
    found
}

fn kind_of(ty: &parsed::Ty, cursor: &mut Cursor<'_>) -> TypeRef {
    use parsed::Ty;
    let mut base = |word: &str, kind| TypeRef { kind, at: cursor.word(word) };
    match ty {
        Ty::Void => base("void", TypeKind::Void),
        Ty::Bool => base("bool", TypeKind::Bool),
        Ty::Byte => base("byte", TypeKind::I8),
        Ty::I8 => base("i8", TypeKind::I8),
        Ty::I16 => base("i16", TypeKind::I16),
        Ty::I32 => base("i32", TypeKind::I32),
        Ty::I64 => base("i64", TypeKind::I64),
        Ty::Double => base("double", TypeKind::Double),
        Ty::String => base("string", TypeKind::String),
        Ty::Binary => base("binary", TypeKind::Binary),
        Ty::Uuid => base("uuid", TypeKind::Uuid),
        Ty::Path(path) => {
            let (text, at) = path_of(path, cursor);
            TypeRef { kind: TypeKind::Named(text), at }
        }
        Ty::List { value, cpp_type } => {
            let at = cursor.word("list");
            let element = type_of(value, cursor);
            skip_cpp_type(cpp_type.as_ref(), cursor);
            TypeRef { kind: TypeKind::List(element.into()), at }
        }
        Ty::Set { value, cpp_type } => {
            let at = cursor.word("set");
            skip_cpp_type(cpp_type.as_ref(), cursor);
            TypeRef { kind: TypeKind::Set(type_of(value, cursor).into()), at }
        }
        Ty::Map { key, value, cpp_type } => {
            let at = cursor.word("map");
            skip_cpp_type(cpp_type.as_ref(), cursor);
            let key = type_of(key, cursor);
            let value = type_of(value, cursor);
            TypeRef { kind: TypeKind::Map(key.into(), value.into()), at }
        }
    }
}

fn skip_cpp_type(cpp_type: Option<&parsed::CppType>, cursor: &mut Cursor<'_>) {
    if cpp_type.is_some() {
        cursor.literal();
    }
}

fn value_of(value: &parsed::ConstValue, cursor: &mut Cursor<'_>) -> Value {
    use parsed::ConstValue;
    match value {
        ConstValue::Bool(value) => {
            let at = cursor.word(if *value { "true" } else { "false" });
            Value { kind: ValueKind::Bool(*value), at }
        }
        ConstValue::Path(path) => {
            let (text, at) = path_of(path, cursor);
            Value { kind: ValueKind::Named(text), at }
        }
        ConstValue::String(text) => {
            Value { kind: ValueKind::Text(text.0.clone()), at: cursor.literal() }
        }
        ConstValue::Int(value) => Value { kind: ValueKind::Int(value.0), at: cursor.number() },
        ConstValue::Double(value) => {
            let number = value.0.parse().unwrap_or(f64::NAN);
            Value { kind: ValueKind::Double(number), at: cursor.number() }
        }
        ConstValue::List(values) => {
            let at = cursor.mark("[");
            let values = values.iter().map(|value| value_of(value, cursor)).collect();
            cursor.mark("]");
            Value { kind: ValueKind::List(values), at }
        }
        ConstValue::Map(pairs) => {
            let at = cursor.mark("{");
            let pair = |(key, value)| (value_of(key, cursor), value_of(value, cursor));
            let pairs = pairs.iter().map(|(key, value)| (key, value)).map(pair).collect();
            cursor.mark("}");
            Value { kind: ValueKind::Map(pairs), at }
        }
    }
}
