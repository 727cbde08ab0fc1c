//! An IDL as it is meant: every name resolved, every constant evaluated.

use std::path::PathBuf;

use crate::error::Position;
pub use crate::syntax::{Requiredness, Shape};

/// All files that belong together; a file stands behind those it includes.
#[derive(Debug, Default)]
pub struct Schema {
    /// The files.
    pub files: Vec<File>,
    /// In which order structs are written.
    pub order: Order,
    /// Whether owned types have `Eq`, `PartialOrd`, `Ord` and `Hash` where no `double` is in them.
    pub ordered: bool,
    /// Whether owned types can be written and read by serde.
    pub serde: bool,
    /// The path of `breezeway_thrift`, if it is another.
    pub runtime: Option<String>,
    /// Whether owned strings have short text in place.
    pub small_strings: bool,
    /// Whether owned binaries may be parts of the message they came in.
    pub shared_bytes: bool,
    /// What is generated for services.
    pub services: Services,
    /// Whether services are also served by views, with replies that are written in place.
    pub in_place: bool,
}

/// What is generated for services.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Services {
    /// A trait that says nothing of how calls travel.
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

/// In which order the fields of a struct are written, and read fastest. Any order is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By their numbers, as Apache's generators write them.
    #[default]
    Ids,
    /// Those of fixed size first, then the others, both in the IDL's order: as Kitex writes them.
    FixedFirst,
}

/// One .thrift file.
#[derive(Debug)]
pub struct File {
    /// Where it was found.
    pub path: PathBuf,
    /// Its name without `.thrift`: what other files put before the dot.
    pub stem: String,
    /// The path of its Rust module: `namespace rs`, else `namespace *`, else the stem.
    pub module: Vec<String>,
    /// The comment that the file begins with, line by line.
    pub docs: Vec<String>,
    /// The path of the module that its types are in, if another crate has them.
    pub external: Option<String>,
    /// Indices of the files it includes.
    pub includes: Vec<usize>,
    /// What it includes that was not found. It uses nothing of it.
    pub missing_includes: Vec<String>,
    /// What it defines, in its order.
    pub definitions: Vec<Definition>,
}

/// Names one definition of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id {
    /// The index of its file.
    pub file: usize,
    /// Its index in that file.
    pub index: usize,
}

/// One definition.
#[derive(Debug)]
pub struct Definition {
    /// Its name in the IDL.
    pub name: String,
    /// Where it stands.
    pub position: Position,
    /// Its comments, line by line.
    pub docs: Vec<String>,
    /// Its annotations: `(key = "value")`.
    pub annotations: Vec<(String, String)>,
    /// What it is.
    pub kind: Kind,
}

/// What a definition defines.
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
    /// Its name in the IDL.
    pub name: String,
    /// Its number on the wire.
    pub number: i32,
    /// Its comments, line by line.
    pub docs: Vec<String>,
    /// Its annotations.
    pub annotations: Vec<(String, String)>,
}

/// A struct, union or exception, or the arguments or the result of a method.
#[derive(Clone, Debug)]
pub struct Struct {
    /// Which of the three.
    pub shape: Shape,
    /// Its fields, in the file's order.
    pub fields: Vec<Field>,
}

/// One field.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its number on the wire.
    pub id: i16,
    /// Its name in the IDL.
    pub name: String,
    /// Whether it may be absent.
    pub requiredness: Requiredness,
    /// Its type.
    pub ty: Type,
    /// What it is when absent.
    pub default: Option<Value>,
    /// Its comments, line by line.
    pub docs: Vec<String>,
    /// Its annotations.
    pub annotations: Vec<(String, String)>,
    /// It leads back to its own struct with no container in between: it cannot lie inside it.
    pub recursive: bool,
    /// It has a box: it is recursive, or so many structs lie inside each other that rustc would
    /// give up.
    pub boxed: bool,
}

/// A type, and the typedef through which it was named.
#[derive(Clone, Debug)]
pub struct Type {
    /// What it is.
    pub kind: TypeKind,
    /// The typedef.
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
    /// The value of an enum with this index.
    Enum(Id, usize),
    /// A struct: the fields that are given, by index.
    Struct(Id, Vec<(usize, Value)>),
}

/// A service.
#[derive(Debug)]
pub struct Service {
    /// The service whose methods it has too.
    pub extends: Option<Id>,
    /// Its own methods.
    pub methods: Vec<Method>,
}

/// One method.
#[derive(Debug)]
pub struct Method {
    /// Its name on the wire.
    pub name: String,
    /// There is no reply of any kind.
    pub oneway: bool,
    /// What it returns; nothing for `void`.
    pub result: Option<Type>,
    /// Its arguments.
    pub arguments: Struct,
    /// The exceptions it may throw.
    pub throws: Vec<Field>,
    /// How many messages each side sends (Kitex's `streaming.mode`).
    pub streaming: Streaming,
    /// Its comments, line by line.
    pub docs: Vec<String>,
    /// Its annotations.
    pub annotations: Vec<(String, String)>,
}

impl Method {
    /// The fields of its reply, of which one is set: the result as field 0, and the exceptions.
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

/// Who sends more than one message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Streaming {
    /// Neither side: an ordinary call.
    #[default]
    None,
    /// Neither side, but carried as a stream.
    Unary,
    /// The client.
    Client,
    /// The server.
    Server,
    /// Both.
    Bidirectional,
}

impl Streaming {
    /// Whether a side sends any number of messages, so that it is no call.
    pub fn is_stream(self) -> bool {
        self.of_requests() || self.of_replies()
    }

    /// Whether the client sends any number of messages.
    pub fn of_requests(self) -> bool {
        matches!(self, Self::Client | Self::Bidirectional)
    }

    /// Whether the server sends any number of messages.
    pub fn of_replies(self) -> bool {
        matches!(self, Self::Server | Self::Bidirectional)
    }
}

impl Schema {
    /// The path of the runtime.
    pub(crate) fn runtime(&self) -> &str {
        let usual = match self.services {
            Services::Trait => crate::generate::RUNTIME,
            _ => "::breezeway_rpc::thrift",
        };
        self.runtime.as_deref().unwrap_or(usual)
    }

    /// One sentence for each include that was not found, and that nothing is used of.
    pub fn missing_includes(&self) -> impl Iterator<Item = String> {
        self.files.iter().flat_map(|file| {
            let path = file.path.display();
            file.missing_includes.iter().map(move |include| {
                format!("{path} includes '{include}', which is not there; it uses nothing of it")
            })
        })
    }

    /// The definition with this id.
    pub fn definition(&self, id: Id) -> &Definition {
        &self.files[id.file].definitions[id.index]
    }

    /// The struct with this id, if it is one.
    pub fn structure(&self, id: Id) -> Option<&Struct> {
        match &self.definition(id).kind {
            Kind::Struct(found) => Some(found),
            _ => None,
        }
    }

    /// The values of the enum with this id; none if it is no enum.
    pub fn enum_values(&self, id: Id) -> &[EnumValue] {
        match &self.definition(id).kind {
            Kind::Enum(values) => values,
            _ => &[],
        }
    }

    /// The struct, union or exception of this name: `Name`, or `file.Name`; the last file wins.
    pub fn find_struct(&self, name: &str) -> Option<Id> {
        self.ids().rev().find(|&id| self.structure(id).is_some() && self.goes_by(id, name))
    }

    /// The method of this name; the last file wins.
    pub fn find_method(&self, name: &str) -> Option<&Method> {
        let services = self.ids().rev().filter_map(|id| match &self.definition(id).kind {
            Kind::Service(service) => Some(service),
            _ => None,
        });
        services.flat_map(|service| &service.methods).find(|method| method.name == name)
    }

    /// Every definition, in order.
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
    /// The type byte of Thrift Binary.
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
    /// The type itself, under its own name.
    pub(crate) fn plain(kind: TypeKind) -> Self {
        Self { kind, alias: None }
    }
}
