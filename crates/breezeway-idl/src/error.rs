//! Errors of an IDL, with their places.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

/// A place in a .thrift file; both numbers begin at one, columns count characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The character in that line.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.line, self.column)
    }
}

/// Error of generating code.
///
/// A build script's `main` may return it: its debug form is its message.
#[derive(Error)]
#[non_exhaustive]
pub enum Error {
    /// The IDL breaks a rule.
    #[error("{}:{position}: {problem}", file.display())]
    Invalid {
        /// The .thrift file.
        file: PathBuf,
        /// Place in the file.
        position: Position,
        /// The rule.
        problem: Problem,
    },
    /// A .thrift file cannot be read.
    #[error("cannot read {}: {source}{}", path.display(), encoding(source))]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The generated file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// A path was given for the types of a file that is not among the files read, or for several.
    #[error(
        "extern_path() names {}, which is not exactly one of the files and what they include",
        .0.display()
    )]
    ExternFile(PathBuf),
    /// A method that streams does not return a struct, or does not take exactly one argument.
    #[error(
        "'{0}' streams: for breezeway-rpc it takes one argument, returns a struct, is not oneway"
    )]
    StreamsNoStruct(String),
    /// In-place serving was requested without services for breezeway-rpc.
    #[error("in_place() is of services for breezeway-rpc: choose which with services()")]
    InPlaceWithoutServices,
    /// A method of Go that streams takes no struct.
    #[error("'{0}' streams: for Go its argument is a struct")]
    GoStreamsNoStruct(String),
    /// Two files of one package of Go define one name.
    #[error(
        "{first} and {second} both define '{name}' in the Go package '{package}'; give one of \
         them another `namespace go`",
        first = first.display(),
        second = second.display()
    )]
    GoNameOfTwoFiles {
        /// The name.
        name: String,
        /// The package, as a namespace.
        package: String,
        /// One of the files.
        first: PathBuf,
        /// The other one.
        second: PathBuf,
    },
    /// A file of Go was generated from another .thrift file.
    #[error(
        "{path} was generated from {first}, and {second} would replace it; give one of them \
         another `namespace go`, or another folder",
        path = path.display(),
        first = first.display(),
        second = second.display()
    )]
    GoFileOfTwoSources {
        /// The generated file.
        path: PathBuf,
        /// Its .thrift file.
        first: PathBuf,
        /// The other .thrift file.
        second: PathBuf,
    },
    /// Packages of Go would import each other.
    #[error("packages of Go would import each other, which Go refuses: {0}")]
    GoImportCycle(String),
    /// No output directory was given, and cargo's is not set.
    #[error("no output directory: set one with out_dir(), or run from a build script")]
    NoOutDir,
}

/// Returns the remedy for bytes that are not text.
fn encoding(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::InvalidData => "; a .thrift file is text in UTF-8",
        _ => "",
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// The rule that an IDL breaks.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The text is not Thrift IDL.
    #[error("{0}")]
    Syntax(String),
    /// A comment or a string has no end.
    #[error("this {0} is never closed")]
    Unclosed(&'static str),
    /// Brackets, files or definitions are nested too deeply.
    #[error("{what} are nested more than {limit} deep")]
    TooDeep {
        /// Nested construct.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// A name of an included file is used, and the file is in no search directory.
    #[error(
        "'{name}' is of '{include}', which is neither beside this file nor in an include \
         directory (-I)"
    )]
    IncludeNotFound {
        /// Include in the IDL.
        include: String,
        /// The name.
        name: String,
    },
    /// A file includes itself, directly or through others.
    #[error("files include each other: {0}")]
    IncludeCycle(String),
    /// A name is used that two included files of the same name define.
    #[error(
        "'{name}' may be that of {first} or of {second}; rename one of the files",
        first = first.display(),
        second = second.display()
    )]
    AmbiguousName {
        /// The name.
        name: String,
        /// One of the files.
        first: PathBuf,
        /// The other one.
        second: PathBuf,
    },
    /// An undefined name is used.
    #[error("there is no type '{0}'")]
    UnknownType(String),
    /// A qualified name's file is not included.
    #[error("there is no include called '{prefix}' for '{name}'")]
    UnknownPrefix {
        /// Part before the dot.
        prefix: String,
        /// The whole name.
        name: String,
    },
    /// An undefined constant is used.
    #[error("there is no constant or enum value '{0}'")]
    UnknownConstant(String),
    /// A service extends one that does not exist.
    #[error("there is no service '{0}'")]
    UnknownService(String),
    /// A name is used where a type of another kind is needed.
    #[error("'{name}' is {kind}, not {needed}")]
    WrongKind {
        /// The name.
        name: String,
        /// Kind of the name.
        kind: &'static str,
        /// Required kind.
        needed: &'static str,
    },
    /// A name is defined twice.
    #[error("{what} '{name}' is defined twice, first at {first}")]
    DuplicateName {
        /// Kind of definition: a field, a type, a method.
        what: &'static str,
        /// The name.
        name: String,
        /// Place of the first one.
        first: String,
    },
    /// Two fields have one id.
    #[error("field id {id} is used twice, first by '{first}'")]
    DuplicateFieldId {
        /// The id.
        id: i16,
        /// The field with the same id.
        first: String,
    },
    /// More fields without a number than there are negative numbers of 16 bits.
    #[error("more than 32768 fields have no number; give them numbers")]
    TooManyFields,
    /// An enum value's number does not fit.
    #[error("enum value {0} does not fit in an i32")]
    EnumNumberTooLarge(i64),
    /// A value does not fit its type.
    #[error("{value} is not a value of type {expected}")]
    WrongValue {
        /// The value, as written.
        value: String,
        /// The type it should have.
        expected: String,
    },
    /// A struct constant names a field that the struct does not have.
    #[error("struct '{name}' has no field '{field}'")]
    UnknownField {
        /// The struct.
        name: String,
        /// The field.
        field: String,
    },
    /// A struct constant omits a required field, and the field's type has no default value.
    #[error("the value lacks the required field '{field}' of struct '{name}'")]
    MissingField {
        /// The struct.
        name: String,
        /// The field.
        field: String,
    },
    /// A union constant sets no field, or several.
    #[error("a value of union '{name}' sets one field, this one sets {count}")]
    UnionValue {
        /// The union.
        name: String,
        /// Number of fields set.
        count: usize,
    },
    /// A struct's default value contains that struct.
    #[error("the default value of '{0}' contains '{0}' again and has no end; remove a default")]
    EndlessDefault(String),
    /// A constant's value needs the constant itself.
    #[error("constant '{0}' is defined by itself")]
    ConstantCycle(String),
    /// A typedef leads back to itself.
    #[error("typedef '{0}' is defined by itself")]
    TypedefCycle(String),
    /// A service extends itself, directly or through others.
    #[error("service '{0}' extends itself")]
    ServiceCycle(String),
    /// A struct cannot exist because it requires itself.
    #[error("struct '{0}' requires itself: no value of it is finite; make a field optional")]
    InfiniteStruct(String),
    /// `void` stands where a value is needed.
    #[error("void is a result type only")]
    VoidValue,
    /// A oneway method has a result.
    #[error("oneway method '{0}' cannot have a result")]
    OnewayResult(String),
    /// A oneway method declares exceptions.
    #[error("oneway method '{0}' cannot throw")]
    OnewayThrows(String),
    /// A throws clause names something other than an exception.
    #[error("'{0}' is not an exception: only exceptions can be thrown")]
    ThrowsNoException(String),
    /// A union's field is marked required.
    #[error("field '{0}' of a union cannot be required")]
    UnionRequired(String),
    /// A streaming annotation has a value that Kitex does not define.
    #[error("streaming.mode '{0}' is none of bidirectional, client, server, unary")]
    StreamingMode(String),
    /// The annotation `strings` has an invalid value.
    #[error("strings = '{0}' is neither bytes nor text")]
    Strings(String),
}
