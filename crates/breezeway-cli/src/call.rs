//! `breezeway call`: a method of any service, with JSON in and out.

#[cfg(feature = "grpc")]
mod grpc;
mod method;
mod raw;
mod reply;
mod request;
mod stream;

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use breezeway::{CallError, ConnectError, HandshakeError, TlsError, describe};
use breezeway_idl::model::Schema;
use breezeway_rpc::thrift::Streaming;
use breezeway_rpc::{CallOptions, Error, Method, StreamChannel, ThriftClient, ThriftFraming};
use serde_json::Value;

use self::method::Called;
pub(crate) use self::method::by_number as methods_by_number;
use self::raw::Raw;
use self::reply::Outcome;
use crate::certificates::Certificates;
use crate::failure::Failure;
use crate::rpc::is_unknown_method;
use crate::settings::SessionSettings;
use crate::shmipc::Calling;
use crate::target::Target;

const EXAMPLES: &str = "\
Examples:
  breezeway call shm:/run/users.sock --idl users.thrift Users.age '{\"name\": \"Ada\"}'
  breezeway call tcp:10.0.0.7:8888 --idl users.thrift --framing framed \\
    Users.age '{\"name\": \"Ada\"}'
  breezeway call unix:/run/users.sock -I idl --idl api/users.thrift Users.age - < age.json
  breezeway call shm:/run/room.sock --idl room.thrift Room.listen '{\"from\": \"hall\"}'
  cat lines.json | breezeway call shm:/run/room.sock --idl room.thrift Room.talk
  breezeway call shm:/run/users.sock --idl users.thrift --timeout 2s \\
    --metadata user=ada --metadata trace=7 Users.age '{\"name\": \"Ada\"}'
  breezeway call shm:/run/health.sock grpc.health.v1.Health/Check
  breezeway call unix:/run/greeter.sock --proto greeter.proto \
    Greeter/SayHello '{\"name\": \"Ada\"}'
  breezeway call tls:users.example.org:7000 --roots ca.pem --certificate me.pem --key me.key \\
    --idl users.thrift Users.age '{\"name\": \"Ada\"}'

The service is Thrift's with --idl, else gRPC's, whose messages are known from --proto or by the \
server's reflection. An unknown service or method is an error that names those of the server.

A call takes one JSON object, the arguments by their names, and prints the result as one line. A \
stream takes and prints messages, each the struct itself, one to a line. Enums are names or \
numbers, binary is base64, maps whose keys are containers are arrays of pairs. A field that is \
not given is not sent, unless the IDL has a default; fields of a reply that the IDL does not have \
are not printed. Messages of gRPC are JSON as Protobuf defines it.

Exit status: 0 if the method gave a result, 3 if it threw an exception that the IDL declares, or \
refused (a business error), 4 if the call failed on its way or in the server, 2 for a bad command \
line, 1 for all else, when nothing was sent, or the reply cannot be read.";

/// Call a method of a service, with JSON in and out
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Address of the service, such as shm:/run/users.sock, tcp:10.0.0.7:8888,
    /// tls:users.example.org:7000 or shmipc:/run/users.sock
    address: Target,
    /// The .thrift file that has the service
    #[arg(long, value_name = "FILE")]
    idl: Option<PathBuf>,
    /// The .proto file that has the service; without --idl and --proto the server's reflection
    #[arg(long, value_name = "FILE", conflicts_with = "idl")]
    proto: Option<PathBuf>,
    /// The method, such as Users.age or grpc.health.v1.Health/Check
    #[arg(value_name = "SERVICE.METHOD")]
    method: String,
    /// The arguments; - reads standard input, as does a stream without this argument; a call
    /// without it sends {}
    #[arg(value_name = "JSON")]
    json: Option<String>,
    /// Framing of messages
    #[arg(long, value_enum, default_value_t = Framing::Auto, requires = "idl")]
    framing: Framing,
    /// Give up after this time, such as 500ms or 2s; a call waits for ever otherwise
    #[arg(long, value_name = "TIME", value_parser = timeout)]
    timeout: Option<Duration>,
    /// A value beside the arguments, for the called service (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    metadata: Vec<(String, String)>,
    /// Another directory to search for included files (repeatable)
    #[arg(long = "include-dir", short = 'I', value_name = "DIR")]
    include_dirs: Vec<PathBuf>,
    #[command(flatten)]
    certificates: Certificates,
}

/// Framing of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Framing {
    /// Over a Breezeway session; in TTHeader at other servers, and over streams of shmipc
    Auto,
    /// Over a Breezeway session
    Native,
    /// In TTHeader, as Kitex and Volo do: with metadata, and its streams
    Ttheader,
    /// Framed Thrift, as Kitex, Volo and Apache's TFramedTransport do
    Framed,
    /// Thrift without lengths, as Apache's TBufferedTransport does
    Unframed,
}

impl Framing {
    /// Returns the framing in streams of shmipc, where there is no session.
    fn in_streams(self) -> Result<ThriftFraming, Failure> {
        match self {
            Self::Native => Err("--framing native does not go with a shmipc: address, whose \
                streams carry Thrift in framings: take ttheader, framed or unframed"
                .into()),
            Self::Auto | Self::Ttheader => Ok(ThriftFraming::TtHeader),
            Self::Framed => Ok(ThriftFraming::Framed),
            Self::Unframed => Ok(ThriftFraming::Unframed),
        }
    }
}

fn timeout(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if time.is_zero() { Err("no time at all".to_owned()) } else { Ok(time) }
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .filter(|(name, _)| !name.is_empty())
        .ok_or("a name and a value, such as user=ada")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Failure that the server returned for the call.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallFailure {
    #[error("{method} threw {exception}: {fields}")]
    Thrown { method: String, exception: String, fields: String },
    #[error("{0} refuses: {why}", why = describe(.1))]
    Refused(String, Error),
    #[error(
        "{0} failed: the server has no such method, or does not serve Thrift; check the address, \
         and --idl{1}"
    )]
    NoMethod(String, String),
    #[error("{0} failed: {why}", why = describe(.1))]
    Failed(String, Error),
    #[cfg(feature = "grpc")]
    #[error("{0} failed: {1}")]
    Status(String, String),
}

impl CallFailure {
    pub(crate) fn exit_status(&self) -> u8 {
        match self {
            Self::Thrown { .. } | Self::Refused(..) => 3,
            Self::NoMethod(..) | Self::Failed(..) => 4,
            #[cfg(feature = "grpc")]
            Self::Status(..) => 4,
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Result<(), Failure> {
    args.certificates.install_for_client(args.address.places())?;
    let Some(idl) = &args.idl else { return run_grpc(&args) };
    let schema = breezeway_idl::read(std::slice::from_ref(idl), &args.include_dirs)?;
    // Leaked, because threads use it; the command calls one method, once.
    let called = Called::find(Box::leak(Box::new(schema)), &args.method)?;
    let options = args
        .metadata
        .iter()
        .fold(CallOptions::new(), |options, (name, value)| options.metadata(name, value));
    let options = args.timeout.into_iter().fold(options, CallOptions::timeout);
    let call = Call { called, options, json: args.json };
    let address = match &args.address {
        Target::Breezeway(address) => address,
        Target::Shmipc(address) => {
            let framing = args.framing.in_streams()?;
            let options = Calling::default().options(address, &SessionSettings::default())?;
            let client = breezeway_shmipc::Client::connect(address, options)?;
            return call.perform(ThriftClient::over_shmipc(client, framing));
        }
    };
    let thrift = |framing| ThriftClient::with_framing(address.clone(), framing);
    match args.framing {
        Framing::Native => call.perform(breezeway::Session::connect(address)?),
        Framing::Auto => match breezeway::Session::connect(address) {
            Ok(channel) => call.perform(channel),
            Err(error) if speaks_otherwise(&error) => {
                let outcome = call.perform(thrift(ThriftFraming::TtHeader));
                outcome.map_err(|failure| neither(&error, failure))
            }
            Err(error) => Err(error.into()),
        },
        Framing::Ttheader => call.perform(thrift(ThriftFraming::TtHeader)),
        Framing::Framed => call.perform(thrift(ThriftFraming::Framed)),
        Framing::Unframed => call.perform(thrift(ThriftFraming::Unframed)),
    }
}

/// Runs the command for a method of gRPC.
fn run_grpc(args: &Args) -> Result<(), Failure> {
    #[cfg(feature = "grpc")]
    if let Target::Breezeway(address) = &args.address {
        return grpc::run(args, address);
    }
    let idl = "give the .thrift file of the service by --idl";
    Err(match &args.address {
        Target::Shmipc(_) => format!("a shmipc: address has no services of gRPC: {idl}").into(),
        Target::Breezeway(_) => format!("this build has no gRPC: {idl}").into(),
    })
}

/// Returns true if a server answered that may speak Thrift.
fn speaks_otherwise(error: &ConnectError) -> bool {
    match error {
        ConnectError::Handshake(HandshakeError::Tls(TlsError::OtherProtocol)) => true,
        // Another protocol would fail of it as well.
        ConnectError::Handshake(HandshakeError::Tls(_)) => false,
        ConnectError::Handshake(_) => true,
        ConnectError::NoPlace(places) => places.iter().any(|(_, error)| speaks_otherwise(error)),
        _ => false,
    }
}

/// Returns the error for a server that speaks neither: it names both.
fn neither(native: &ConnectError, failure: Failure) -> Failure {
    match failure.downcast_ref() {
        Some(CallFailure::Failed(_, Error::Io(_) | Error::Protocol(_))) => {
            let native = describe(native);
            format!("{failure}, in TTHeader; natively: {native} (option --framing)").into()
        }
        _ => failure,
    }
}

struct Call {
    called: Called<'static>,
    options: CallOptions,
    json: Option<String>,
}

impl Call {
    fn perform(&self, channel: impl StreamChannel) -> Result<(), Failure> {
        if self.called.wire.is_stream() {
            let ended = stream::run(self, &channel);
            return ended.map_err(|failure| self.explained(failure, &channel));
        }
        let arguments = self.arguments()?;
        let Called { schema, method, wire } = &self.called;
        let request = request::encode(schema, &method.arguments, &arguments)?;
        if method.oneway {
            let posted = channel.post(wire, &Raw(request), &self.options);
            return posted.map_err(|error| self.failed(error));
        }
        let reply = channel.call(wire, &Raw(request), &self.options);
        let Raw(reply) = reply.map_err(|error| self.failed(error))?;
        match reply::read(schema, method, &reply)? {
            Outcome::Value(text) => Ok(print(&text)?),
            Outcome::Void => Ok(print("null")?),
            Outcome::Thrown(exception, fields) => Err(self.thrown(exception, fields)),
        }
    }

    /// Returns the failure of a stream. A reset of an unknown method has no words; a call of the
    /// same number gets the server's, which name its services.
    fn explained(&self, failure: Failure, channel: &impl StreamChannel) -> Failure {
        let Some(CallFailure::NoMethod(..)) = failure.downcast_ref() else { return failure };
        let called = Method { streaming: Streaming::None, ..self.called.wire };
        match channel.call(&called, &Raw::default(), &self.options) {
            Err(error) if is_unknown_method(&error) => self.failed(error),
            _ => failure,
        }
    }

    /// The one JSON value of a call.
    fn arguments(&self) -> Result<Value, Failure> {
        let bad = |error: serde_json::Error| format!("the arguments are not JSON: {error}");
        match self.json.as_deref() {
            None => Ok(Value::Object(serde_json::Map::new())),
            Some("-") => Ok(serde_json::from_reader(io::stdin().lock()).map_err(bad)?),
            Some(text) => Ok(serde_json::from_str(text).map_err(bad)?),
        }
    }

    fn schema(&self) -> &'static Schema {
        self.called.schema
    }

    fn name(&self) -> String {
        format!("{}.{}", self.called.wire.service, self.called.wire.name)
    }

    fn thrown(&self, exception: String, fields: String) -> Failure {
        CallFailure::Thrown { method: self.name(), exception, fields }.into()
    }

    fn failed(&self, error: Error) -> Failure {
        match error {
            Error::Business(_) => CallFailure::Refused(self.name(), error).into(),
            // They never left.
            Error::Connect(_)
            | Error::Connecting(..)
            | Error::Shmipc(_)
            | Error::NoMetadata
            | Error::MetadataTooLong { .. }
            | Error::Encode(_)
            | Error::Call(CallError::TooLarge { .. } | CallError::TooMuchMetadata { .. }) => {
                error.into()
            }
            error if is_unknown_method(&error) => {
                CallFailure::NoMethod(self.name(), served(&error)).into()
            }
            error => CallFailure::Failed(self.name(), error).into(),
        }
    }
}

/// Returns the names of the services that the error of an unknown method has, if any.
fn served(error: &Error) -> String {
    let Error::Application(exception) = error else { return String::new() };
    let names = exception.message.split_once("; served here: ").map(|(_, names)| names);
    names.map_or_else(String::new, |names| format!(" (served here: {names})"))
}

/// Prints a line of output. A closed reader, such as `head` after its lines, is not an error.
fn print(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        outcome => outcome,
    }
}
