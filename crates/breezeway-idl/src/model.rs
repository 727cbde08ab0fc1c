//! A resolved IDL: every name resolved, every constant evaluated.

use std::path::PathBuf;

use crate::error::Position;
pub use crate::syntax::{Requiredness, Shape};

/// All files that belong together; a file comes after those it includes.
#[derive(Debug, Default)]
pub struct Schema {
    /// The files.
    pub files: Vec<File>,
    /// Order in which fields are written.
    pub order: Order,
    /// True if owned types without a `double` have `Eq`, `PartialOrd`, `Ord` and `Hash`.
    pub ordered: bool,
    /// True if owned types can be written and read by serde.
    pub serde: bool,
    /// Path of `breezeway_thrift`, if it is not the default.
    pub runtime: Option<String>,
    /// True if owned strings store short text inline.
    pub small_strings: bool,
    /// True if owned binaries may be parts of their message.
    pub shared_bytes: bool,
    /// Code generated for services.
    pub services: Services,
    /// True if services are also served by views, with replies that are written in place.
    pub in_place: bool,
    /// True if structs in Go have views.
    pub views: bool,
}

/// Code generated for services.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Services {
    /// A trait that does not depend on a transport.
    #[default]
    Trait,
    /// A trait, a server and a client of `breezeway-rpc` that block.
    Blocking,
    /// A trait, a server and a client of `breezeway-rpc` that await.
    Async,
    /// Both.
    BlockingAndAsync,
}

impl Services {
    pub(crate) fn blocking(self) -> bool {
        matches!(self, Self::Blocking | Self::BlockingAndAsync)
    }

    pub(crate) fn awaiting(self) -> bool {
        matches!(self, Self::Async | Self::BlockingAndAsync)
    }
}

/// Order in which the fields of a struct are written, and read fastest. Any order can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By their numbers, as in Apache's generators.
    #[default]
    Ids,
    /// Those of fixed size first, then the others, both in the IDL's order, as in Kitex.
    FixedFirst,
}

/// One .thrift file.
#[derive(Debug)]
pub struct File {
    /// Path of the file.
    pub path: PathBuf,
    /// Name without `.thrift`: the prefix before the dot in other files.
    pub stem: String,
    /// Path of its Rust module: `namespace rs`, else `namespace *`, else the stem.
    pub module: Vec<String>,
    /// Path of its Go package: `namespace go`, else `namespace *`, else the stem.
    pub go_package: Vec<String>,
    /// Comment at the beginning of the file, line by line.
    pub docs: Vec<String>,
    /// Path of the module with its types, if another crate has them.
    pub external: Option<String>,
    /// Indexes of the files it includes.
    pub includes: Vec<usize>,
    /// Includes that were not found, and of which it uses nothing.
    pub missing_includes: Vec<String>,
    /// Definitions, in the file's order.
    pub definitions: Vec<Definition>,
}

/// Identifies one definition of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id {
    /// Index of its file.
    pub file: usize,
    /// Index in that file.
    pub index: usize,
}

/// One definition.
#[derive(Debug)]
pub struct Definition {
    /// Name in the IDL.
    pub name: String,
    /// Place in the file.
    pub position: Position,
    /// Comments, line by line.
    pub docs: Vec<String>,
    /// Annotations: `(key = "value")`.
    pub annotations: Vec<(String, String)>,
    /// Kind of definition, with its contents.
    pub kind: Kind,
}

/// Kind of a definition, with its contents.
#[derive(Debug)]
pub enum Kind {
    /// Another name for a type.
    Typedef(Type),
    /// A named value.
    Constant(Type, Value),
    /// Named numbers.
    Enum(Vec<EnumValue>),
    /// A struct, union or exception.
    Struct(Struct),
    /// Methods.
    Service(Service),
}

/// One value of an enum.
#[derive(Debug)]
pub struct EnumValue {
    /// Name in the IDL.
    pub name: String,
    /// Number on the wire.
    pub number: i32,
    /// Comments, line by line.
    pub docs: Vec<String>,
    /// Annotations.
    pub annotations: Vec<(String, String)>,
}

/// A struct, union or exception, or the arguments or the result of a method.
#[derive(Clone, Debug)]
pub struct Struct {
    /// Kind: struct, union or exception.
    pub shape: Shape,
    /// Fields, in the file's order.
    pub fields: Vec<Field>,
}

/// One field.
#[derive(Clone, Debug)]
pub struct Field {
    /// Number on the wire.
    pub id: i16,
    /// Name in the IDL.
    pub name: String,
    /// Requiredness: whether the field may be absent.
    pub requiredness: Requiredness,
    /// Type of the field.
    pub ty: Type,
    /// Value when absent.
    pub default: Option<Value>,
    /// Comments, line by line.
    pub docs: Vec<String>,
    /// Annotations.
    pub annotations: Vec<(String, String)>,
    /// True if the field leads back to its own struct without a container in between, so that it
    /// cannot be stored inline.
    pub recursive: bool,
    /// True if the field has a box: it is recursive, or structs are nested so deeply that rustc
    /// would fail.
    pub boxed: bool,
}

/// A type, and the typedef through which it was named.
#[derive(Clone, Debug)]
pub struct Type {
    /// Type without typedefs.
    pub kind: TypeKind,
    /// Typedef that named it.
    pub alias: Option<Id>,
}

/// A type with its typedefs resolved.
#[derive(Clone, Debug)]
pub enum TypeKind {
    /// `bool`
    Bool,
    /// `i8` and `byte`
    I8,
    /// `i16`
    I16,
    /// `i32`
    I32,
    /// `i64`
    I64,
    /// `double`
    Double,
    /// `string`
    String,
    /// `binary`
    Binary,
    /// `uuid`
    Uuid,
    /// `list<T>`
    List(Box<Type>),
    /// `set<T>`
    Set(Box<Type>),
    /// `map<K, V>`
    Map(Box<Type>, Box<Type>),
    /// An enum.
    Enum(Id),
    /// A struct, union or exception.
    Struct(Id),
}

/// A constant's or default's value, of its type.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A `bool`.
    Bool(bool),
    /// An integer that fits its type.
    Int(i64),
    /// A `double`.
    Double(f64),
    /// A `string`.
    String(String),
    /// A `binary`.
    Binary(Vec<u8>),
    /// A `uuid`.
    Uuid([u8; 16]),
    /// A list's or set's elements.
    List(Vec<Value>),
    /// A map's pairs.
    Map(Vec<(Value, Value)>),
    /// The value of an enum, by its index.
    Enum(Id, usize),
    /// A struct: the given fields, by index.
    Struct(Id, Vec<(usize, Value)>),
}

/// A service.
#[derive(Debug)]
pub struct Service {
    /// Service whose methods it inherits.
    pub extends: Option<Id>,
    /// Own methods.
    pub methods: Vec<Method>,
}

/// One method.
#[derive(Debug)]
pub struct Method {
    /// Name on the wire.
    pub name: String,
    /// True if the function has no reply of any kind.
    pub oneway: bool,
    /// Result type; `None` for `void`.
    pub result: Option<Type>,
    /// Arguments.
    pub arguments: Struct,
    /// Exceptions it may throw.
    pub throws: Vec<Field>,
    /// Number of messages from each side (Kitex's `streaming.mode`).
    pub streaming: Streaming,
    /// Comments, line by line.
    pub docs: Vec<String>,
    /// Annotations.
    pub annotations: Vec<(String, String)>,
}

impl Method {
    /// Returns the fields of its reply, of which one is set: the result as field 0, and the
    /// exceptions.
    pub fn reply(&self) -> Struct {
        let success = self.result.as_ref().map(|ty| Field {
            id: 0,
            name: "success".to_owned(),
            requiredness: Requiredness::Optional,
            ty: ty.clone(),
            default: None,
            docs: Vec::new(),
            annotations: Vec::new(),
            recursive: false,
            boxed: false,
        });
        let fields = success.into_iter().chain(self.throws.iter().cloned()).collect();
        Struct { shape: Shape::Union, fields }
    }
}

/// Side that sends more than one message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Streaming {
    /// Neither side: an ordinary call.
    #[default]
    None,
    /// Neither side, but carried as a stream.
    Unary,
    /// The client sends a stream.
    Client,
    /// The server sends a stream.
    Server,
    /// Both send a stream.
    Bidirectional,
}

impl Streaming {
    /// Returns true if a side sends any number of messages, so that the method is not a call.
    pub fn is_stream(self) -> bool {
        self.of_requests() || self.of_replies()
    }

    /// Returns true if the client sends any number of messages.
    pub fn of_requests(self) -> bool {
        matches!(self, Self::Client | Self::Bidirectional)
    }

    /// Returns true if the server sends any number of messages.
    pub fn of_replies(self) -> bool {
        matches!(self, Self::Server | Self::Bidirectional)
    }
}

impl Schema {
    /// Returns the path of the runtime.
    pub(crate) fn runtime(&self) -> &str {
        let usual = match self.services {
            Services::Trait => crate::generate::RUNTIME,
            _ => "::breezeway_rpc::thrift",
        };
        self.runtime.as_deref().unwrap_or(usual)
    }

    /// Returns one sentence for each include that was not found and is not used.
    pub fn missing_includes(&self) -> impl Iterator<Item = String> {
        self.files.iter().flat_map(|file| {
            let path = file.path.display();
            file.missing_includes.iter().map(move |include| {
                format!("{path} includes '{include}', which is not there; it uses nothing of it")
            })
        })
    }

    /// Returns the definition with this id.
    pub fn definition(&self, id: Id) -> &Definition {
        &self.files[id.file].definitions[id.index]
    }

    /// Returns the struct with this id, if it is one.
    pub fn structure(&self, id: Id) -> Option<&Struct> {
        match &self.definition(id).kind {
            Kind::Struct(found) => Some(found),
            _ => None,
        }
    }

    /// Returns the values of the enum with this id; empty if it is not an enum.
    pub fn enum_values(&self, id: Id) -> &[EnumValue] {
        match &self.definition(id).kind {
            Kind::Enum(values) => values,
            _ => &[],
        }
    }

    /// Finds the struct, union or exception of this name: `Name`, or `file.Name`; the last file
    /// wins.
    pub fn find_struct(&self, name: &str) -> Option<Id> {
        self.ids().rev().find(|&id| self.structure(id).is_some() && self.goes_by(id, name))
    }

    /// Finds the method of this name; the last file wins.
    pub fn find_method(&self, name: &str) -> Option<&Method> {
        let services = self.ids().rev().filter_map(|id| match &self.definition(id).kind {
            Kind::Service(service) => Some(service),
            _ => None,
        });
        services.flat_map(|service| &service.methods).find(|method| method.name == name)
    }

    /// Returns the ids of all definitions, in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = Id> + '_ {
        self.files.iter().enumerate().flat_map(|(file, found)| {
            (0..found.definitions.len()).map(move |index| Id { file, index })
        })
    }

    fn goes_by(&self, id: Id, name: &str) -> bool {
        let own = &self.definition(id).name;
        own == name || format!("{}.{own}", self.files[id.file].stem) == name
    }
}

impl TypeKind {
    /// Returns the type byte of Thrift Binary.
    pub fn wire_type(&self) -> u8 {
        match self {
            Self::Bool => 2,
            Self::I8 => 3,
            Self::Double => 4,
            Self::I16 => 6,
            Self::I32 | Self::Enum(_) => 8,
            Self::I64 => 10,
            Self::String | Self::Binary => 11,
            Self::Struct(_) => 12,
            Self::Map(..) => 13,
            Self::Set(_) => 14,
            Self::List(_) => 15,
            Self::Uuid => 16,
        }
    }
}

impl Type {
    /// Returns a type without an alias.
    pub(crate) fn plain(kind: TypeKind) -> Self {
        Self { kind, alias: None }
    }
}
