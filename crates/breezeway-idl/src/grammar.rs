//! The grammar of Thrift IDL, as in Apache's compiler.

use crate::error::{Position, Problem};
use crate::parse::Fault;
use crate::reader::Reader;
use crate::syntax::{
    Body, EnumValue, Field, Item, Method, Name, Namespace, Requiredness, Service, Shape, Tree,
    TypeKind, TypeRef, Value, ValueKind,
};
use crate::token::Kind;

type Parsed<T> = Result<T, Fault>;
type Annotations = Vec<(String, String)>;

/// Old forms of `namespace`, which are ignored.
const OLD_NAMESPACES: [&str; 12] = [
    "cocoa_prefix",
    "cpp_namespace",
    "csharp_namespace",
    "delphi_namespace",
    "java_package",
    "perl_package",
    "php_namespace",
    "py_module",
    "ruby_namespace",
    "smalltalk_category",
    "smalltalk_prefix",
    "xsd_namespace",
];

/// Reads a whole file.
pub(crate) fn tree(reader: &mut Reader<'_>) -> Parsed<Tree> {
    let mut tree = Tree::default();
    while let Some(token) = reader.peek() {
        let (text, docs) = (token.text, reader.docs_before());
        match text {
            "include" => {
                reader.advance();
                tree.includes.push(reader.literal()?);
            }
            "cpp_include" => {
                reader.advance();
                reader.literal()?;
            }
            "namespace" => {
                reader.advance();
                tree.namespaces.push(namespace(reader)?);
            }
            old if OLD_NAMESPACES.contains(&old) => {
                reader.advance();
                namespace_path(reader)?;
            }
            _ => tree.items.push(item(reader, docs)?),
        }
        reader.separator();
    }
    Ok(tree)
}

fn namespace(reader: &mut Reader<'_>) -> Parsed<Namespace> {
    let scope = if reader.take_mark("*") { "*".to_owned() } else { reader.path()?.text };
    let path = namespace_path(reader)?;
    annotations(reader)?;
    Ok(Namespace { scope, path: path.split('.').map(str::to_owned).collect() })
}

/// Reads a name, or for some languages a quoted one.
fn namespace_path(reader: &mut Reader<'_>) -> Parsed<String> {
    Ok(match reader.text_of(Kind::Literal) {
        Some(_) => reader.literal()?.text,
        None => reader.path()?.text,
    })
}

/// The parts of a file, for errors.
const ITEM: &str = "include, namespace, const, typedef, enum, struct, union, exception or service";

fn item(reader: &mut Reader<'_>, docs: Vec<String>) -> Parsed<Item> {
    let Some(keyword) = reader.text_of(Kind::Word) else { return Err(reader.unexpected(ITEM)) };
    let parse: fn(&mut Reader<'_>) -> Parsed<(Name, Body)> = match keyword {
        "typedef" => typedef,
        "const" => constant,
        "enum" => enumeration,
        "senum" => old_enumeration,
        "struct" => |reader| structure(reader, Shape::Struct),
        "union" => |reader| structure(reader, Shape::Union),
        "exception" => |reader| structure(reader, Shape::Exception),
        "service" => service,
        _ => return Err(reader.unexpected(ITEM)),
    };
    reader.advance();
    let (name, body) = parse(reader)?;
    let annotations = annotations(reader)?;
    // A comment behind the end of a block describes its last part, or nothing.
    let docs = match body {
        Body::Typedef(_) | Body::Constant(..) => reader.docs(docs),
        _ => docs,
    };
    Ok(Item { name, docs, annotations, body })
}

fn typedef(reader: &mut Reader<'_>) -> Parsed<(Name, Body)> {
    let target = type_ref(reader)?;
    Ok((reader.name()?, Body::Typedef(target)))
}

fn constant(reader: &mut Reader<'_>) -> Parsed<(Name, Body)> {
    let ty = type_ref(reader)?;
    let name = reader.name()?;
    reader.mark("=")?;
    Ok((name, Body::Constant(ty, value(reader)?)))
}

fn enumeration(reader: &mut Reader<'_>) -> Parsed<(Name, Body)> {
    let name = reader.name()?;
    reader.mark("{")?;
    let mut values = Vec::new();
    while !reader.take_mark("}") {
        if reader.text_of(Kind::Word).is_none() {
            return Err(reader.unexpected("a name or '}'"));
        }
        values.push(enum_value(reader)?);
    }
    Ok((name, Body::Enum(values)))
}

fn enum_value(reader: &mut Reader<'_>) -> Parsed<EnumValue> {
    let docs = reader.docs_before();
    let name = reader.name()?;
    let number = if reader.take_mark("=") { Some(integer(reader)?) } else { None };
    let annotations = annotations(reader)?;
    let docs = reader.docs(docs);
    reader.separator();
    Ok(EnumValue { name, number, docs, annotations })
}

/// Reads `senum`, whose values are strings and not checked.
fn old_enumeration(reader: &mut Reader<'_>) -> Parsed<(Name, Body)> {
    let name = reader.name()?;
    let at = reader.at();
    reader.mark("{")?;
    while !reader.take_mark("}") {
        reader.literal()?;
        reader.separator();
    }
    Ok((name, Body::Typedef(TypeRef { kind: TypeKind::String, at })))
}

fn structure(reader: &mut Reader<'_>, shape: Shape) -> Parsed<(Name, Body)> {
    let name = reader.name()?;
    reader.take_word("xsd_all");
    reader.mark("{")?;
    let fields = fields(reader, "}")?;
    Ok((name, Body::Struct(shape, fields)))
}

/// Reads fields up to a closing bracket. Those without a number get −1, −2 and so on.
fn fields(reader: &mut Reader<'_>, end: &'static str) -> Parsed<Vec<Field>> {
    let mut fields = Vec::new();
    let mut unnumbered = 0;
    while !reader.take_mark(end) {
        if reader.peek().is_none() {
            return Err(reader.unexpected(&format!("'{end}'")));
        }
        fields.push(field(reader, &mut unnumbered)?);
    }
    Ok(fields)
}

fn field(reader: &mut Reader<'_>, unnumbered: &mut i32) -> Parsed<Field> {
    let docs = reader.docs_before();
    let id_at = reader.at();
    let id = field_id(reader, unnumbered)?;
    let requiredness = match reader.text_of(Kind::Word) {
        Some("required") => Requiredness::Required,
        Some("optional") => Requiredness::Optional,
        _ => Requiredness::Default,
    };
    if requiredness != Requiredness::Default {
        reader.advance();
    }
    let ty = type_ref(reader)?;
    // `&` selects how C++ stores the field; here fields that need a box have one.
    reader.take_mark("&");
    let name = reader.name()?;
    let default = if reader.take_mark("=") { Some(value(reader)?) } else { None };
    reader.take_word("xsd_optional");
    reader.take_word("xsd_nillable");
    let annotations = annotations(reader)?;
    let docs = reader.docs(docs);
    reader.separator();
    Ok(Field { id, id_at, name, requiredness, ty, default, docs, annotations })
}

/// Reads a positive number. Apache's compiler treats any other as missing.
fn field_id(reader: &mut Reader<'_>, unnumbered: &mut i32) -> Parsed<i32> {
    if reader.text_of(Kind::Number).is_some() {
        let (written, at) = integer(reader)?;
        reader.mark(":")?;
        if i16::try_from(written).is_err() {
            return Err((at, Problem::Syntax("field id does not fit in an i16".to_owned())));
        }
        if let Ok(id @ 1..) = i32::try_from(written) {
            return Ok(id);
        }
    }
    *unnumbered -= 1;
    Ok(*unnumbered)
}

fn service(reader: &mut Reader<'_>) -> Parsed<(Name, Body)> {
    let name = reader.name()?;
    let extends = if reader.take_word("extends") { Some(reader.path()?) } else { None };
    reader.mark("{")?;
    let mut methods = Vec::new();
    while !reader.take_mark("}") {
        if reader.peek().is_none() {
            return Err(reader.unexpected("'}'"));
        }
        methods.push(method(reader)?);
    }
    Ok((name, Body::Service(Service { extends, methods })))
}

fn method(reader: &mut Reader<'_>) -> Parsed<Method> {
    let docs = reader.docs_before();
    let oneway = reader.take_word("oneway") || reader.take_word("async");
    let result = type_ref(reader)?;
    let name = reader.name()?;
    reader.mark("(")?;
    let mut arguments = fields(reader, ")")?;
    for argument in &mut arguments {
        // Other implementations need not send an argument without a value: a missing argument is
        // its default.
        if argument.requiredness == Requiredness::Required {
            argument.requiredness = Requiredness::Default;
        }
    }
    let mut throws = Vec::new();
    if reader.take_word("throws") {
        reader.mark("(")?;
        throws = fields(reader, ")")?;
    }
    let annotations = annotations(reader)?;
    let docs = reader.docs(docs);
    reader.separator();
    Ok(Method { name, oneway, result, arguments, throws, docs, annotations })
}

/// Reads `(key = "value", key)`; a key alone has the value 1.
fn annotations(reader: &mut Reader<'_>) -> Parsed<Annotations> {
    let mut found = Vec::new();
    if !reader.take_mark("(") {
        return Ok(found);
    }
    while !reader.take_mark(")") {
        let key = annotation_key(reader)?;
        let value = if reader.take_mark("=") { reader.literal()?.text } else { "1".to_owned() };
        found.push((key, value));
        reader.separator();
    }
    Ok(found)
}

/// Reads words, marks and numbers up to the end of a key: keys are less restricted than names.
fn annotation_key(reader: &mut Reader<'_>) -> Parsed<String> {
    let mut key = reader.name()?.text;
    while let Some(token) = reader.peek() {
        let part = match token.kind {
            Kind::Word | Kind::Number if key.ends_with(['.', '-', ':']) => token.text,
            Kind::Punctuation if matches!(token.text, "." | "-" | ":") => token.text,
            _ => break,
        };
        key += part;
        reader.advance();
    }
    Ok(key)
}

fn type_ref(reader: &mut Reader<'_>) -> Parsed<TypeRef> {
    let at = reader.at();
    let path = reader.path()?;
    let kind = match path.text.as_str() {
        "void" => TypeKind::Void,
        "bool" => TypeKind::Bool,
        "byte" | "i8" => TypeKind::I8,
        "i16" => TypeKind::I16,
        "i32" => TypeKind::I32,
        "i64" => TypeKind::I64,
        "double" => TypeKind::Double,
        "string" | "slist" => TypeKind::String,
        "binary" => TypeKind::Binary,
        "uuid" => TypeKind::Uuid,
        "list" => list(reader)?,
        "set" => set(reader)?,
        "map" => map(reader)?,
        _ => TypeKind::Named(path.text),
    };
    annotations(reader)?;
    Ok(TypeRef { kind, at })
}

fn cpp_type(reader: &mut Reader<'_>) -> Parsed<()> {
    if reader.take_word("cpp_type") {
        reader.literal()?;
    }
    Ok(())
}

fn list(reader: &mut Reader<'_>) -> Parsed<TypeKind> {
    cpp_type(reader)?;
    reader.mark("<")?;
    let element = type_ref(reader)?;
    reader.mark(">")?;
    cpp_type(reader)?;
    Ok(TypeKind::List(element.into()))
}

fn set(reader: &mut Reader<'_>) -> Parsed<TypeKind> {
    cpp_type(reader)?;
    reader.mark("<")?;
    let element = type_ref(reader)?;
    reader.mark(">")?;
    Ok(TypeKind::Set(element.into()))
}

fn map(reader: &mut Reader<'_>) -> Parsed<TypeKind> {
    cpp_type(reader)?;
    reader.mark("<")?;
    let key = type_ref(reader)?;
    reader.mark(",")?;
    let value = type_ref(reader)?;
    reader.mark(">")?;
    Ok(TypeKind::Map(key.into(), value.into()))
}

fn value(reader: &mut Reader<'_>) -> Parsed<Value> {
    let at = reader.at();
    let Some(token) = reader.peek() else { return Err(reader.unexpected("a value")) };
    let kind = match (token.kind, token.text) {
        (Kind::Word, _) => match reader.path()?.text.as_str() {
            "true" => ValueKind::Bool(true),
            "false" => ValueKind::Bool(false),
            name => ValueKind::Named(name.to_owned()),
        },
        (Kind::Number, text) if is_integer(text) => ValueKind::Int(integer(reader)?.0),
        (Kind::Number, text) => match text.parse() {
            Ok(number) => {
                reader.advance();
                ValueKind::Double(number)
            }
            Err(_) => return Err((at, Problem::Syntax(format!("'{text}' is not a number")))),
        },
        (Kind::Literal, _) => ValueKind::Text(reader.literal()?.text),
        (Kind::Punctuation, "[") => list_value(reader)?,
        (Kind::Punctuation, "{") => map_value(reader)?,
        _ => return Err(reader.unexpected("a value")),
    };
    Ok(Value { kind, at })
}

fn list_value(reader: &mut Reader<'_>) -> Parsed<ValueKind> {
    reader.advance();
    let mut values = Vec::new();
    while !reader.take_mark("]") {
        values.push(value(reader)?);
        reader.separator();
    }
    Ok(ValueKind::List(values))
}

fn map_value(reader: &mut Reader<'_>) -> Parsed<ValueKind> {
    reader.advance();
    let mut pairs = Vec::new();
    while !reader.take_mark("}") {
        let key = value(reader)?;
        reader.mark(":")?;
        pairs.push((key, value(reader)?));
        reader.separator();
    }
    Ok(ValueKind::Map(pairs))
}

fn is_integer(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']);
    hexadecimal(digits).is_some() || digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn hexadecimal(digits: &str) -> Option<&str> {
    digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"))
}

/// Reads a whole number, decimal or hexadecimal, with its place.
fn integer(reader: &mut Reader<'_>) -> Parsed<(i64, Position)> {
    let at = reader.at();
    let text = match reader.text_of(Kind::Number) {
        Some(text) if is_integer(text) => text,
        _ => return Err(reader.unexpected("a whole number")),
    };
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let number = match hexadecimal(digits) {
        Some(digits) => i64::from_str_radix(&format!("{sign}{digits}"), 16),
        None => format!("{sign}{digits}").parse(),
    };
    let too_large = || (at, Problem::Syntax("integer constant does not fit in an i64".to_owned()));
    let number = number.map_err(|_| too_large())?;
    reader.advance();
    Ok((number, at))
}
