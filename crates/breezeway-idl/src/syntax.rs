//! A parsed .thrift file, with the position of every part that can be wrong.

use crate::error::Position;

/// Definitions of one file, names not yet resolved.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) docs: Vec<String>,
    pub(crate) includes: Vec<Name>,
    pub(crate) namespaces: Vec<Namespace>,
    pub(crate) items: Vec<Item>,
}

/// A namespace: `namespace rs a.b`.
#[derive(Debug)]
pub(crate) struct Namespace {
    pub(crate) scope: String,
    pub(crate) path: Vec<String>,
}

/// A name and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) at: Position,
}

/// One definition.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) name: Name,
    pub(crate) docs: Vec<String>,
    pub(crate) annotations: Vec<(String, String)>,
    pub(crate) body: Body,
}

/// Contents of a definition.
#[derive(Debug)]
pub(crate) enum Body {
    Typedef(TypeRef),
    Constant(TypeRef, Value),
    Enum(Vec<EnumValue>),
    Struct(Shape, Vec<Field>),
    Service(Service),
}

/// The three kinds of structs; on the wire they are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `struct`
    Struct,
    /// `union`: exactly one field is set.
    Union,
    /// `exception`
    Exception,
}

#[derive(Debug)]
pub(crate) struct EnumValue {
    pub(crate) name: Name,
    pub(crate) number: Option<(i64, Position)>,
    pub(crate) docs: Vec<String>,
    pub(crate) annotations: Vec<(String, String)>,
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) id: i32,
    pub(crate) id_at: Position,
    pub(crate) name: Name,
    pub(crate) requiredness: Requiredness,
    pub(crate) ty: TypeRef,
    pub(crate) default: Option<Value>,
    pub(crate) docs: Vec<String>,
    pub(crate) annotations: Vec<(String, String)>,
}

/// `required`, `optional`, or neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requiredness {
    /// Always written, and an error when absent.
    Required,
    /// Written when set.
    Optional,
    /// Always written; when absent, its default.
    Default,
}

#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) extends: Option<Name>,
    pub(crate) methods: Vec<Method>,
}

#[derive(Debug)]
pub(crate) struct Method {
    pub(crate) name: Name,
    pub(crate) oneway: bool,
    pub(crate) result: TypeRef,
    pub(crate) arguments: Vec<Field>,
    pub(crate) throws: Vec<Field>,
    pub(crate) docs: Vec<String>,
    pub(crate) annotations: Vec<(String, String)>,
}

/// A type as written.
#[derive(Clone, Debug)]
pub(crate) struct TypeRef {
    pub(crate) kind: TypeKind,
    pub(crate) at: Position,
}

#[derive(Clone, Debug)]
pub(crate) enum TypeKind {
    Void,
    Bool,
    I8,
    I16,
    I32,
    I64,
    Double,
    String,
    Binary,
    Uuid,
    List(Box<TypeRef>),
    Set(Box<TypeRef>),
    Map(Box<TypeRef>, Box<TypeRef>),
    Named(String),
}

/// A constant's or a default's value as written.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) kind: ValueKind,
    pub(crate) at: Position,
}

#[derive(Clone, Debug)]
pub(crate) enum ValueKind {
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(String),
    Named(String),
    List(Vec<Value>),
    Map(Vec<(Value, Value)>),
}
