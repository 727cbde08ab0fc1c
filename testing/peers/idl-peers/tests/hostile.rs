//! Damaged messages of the corpus as arguments of a Volo service: each call fails alone, or its
//! value is one that Breezeway reads too.

use std::path::Path;
use std::sync::LazyLock;

use breezeway::{CallError, ErrorCode};
use breezeway_idl::model::Schema;
use breezeway_idl_corpus::dice::Dice;
use breezeway_idl_corpus::messages::Messages;
use breezeway_rpc::AsyncServer;
use breezeway_thrift::{Streaming, decode_slice};
use breezeway_tokio::Session;
use breezeway_volo::{Method, Methods, VoloService};
use pilota::thrift::binary::TBinaryProtocol;
use pilota::thrift::{
    ApplicationExceptionKind, Message, TAsyncInputProtocol, TInputProtocol, TLengthProtocol,
    TMessageIdentifier, TOutputProtocol, TStructIdentifier, ThriftException,
    new_application_exception,
};
use pilota::{Bytes, BytesMut};
use volo_thrift::context::ServerContext;
use volo_thrift::{EntryMessage, ServerError};

/// One struct. Method number *n* has the *n*th as its arguments.
struct Case {
    file: &'static str,
    name: &'static str,
    /// Reads a message by Breezeway's type.
    is_readable: fn(&[u8]) -> bool,
}

macro_rules! case {
    ($file:literal, $name:literal, $ours:ty, $theirs:ty) => {
        Case { file: $file, name: $name, is_readable: |bytes| decode_slice::<$ours>(bytes).is_ok() }
    };
}

include!(concat!(env!("OUT_DIR"), "/cases.rs"));
include!(concat!(env!("OUT_DIR"), "/through_pilota.rs"));

/// Reads a value as pilota's type, and writes it.
fn through<T: Message, P: TInputProtocol>(from: &mut P) -> Result<Vec<u8>, ThriftException> {
    let value = T::decode(from)?;
    let mut written = BytesMut::new();
    value.encode(&mut TBinaryProtocol::new(&mut written, false))?;
    Ok(written.to_vec())
}

/// The arguments as pilota has written them: the result is a struct with these as field 1.
struct Written(Vec<u8>);

const NAME: TStructIdentifier = TStructIdentifier { name: "Written" };

impl EntryMessage for Written {
    fn encode<T: TOutputProtocol>(&self, to: &mut T) -> Result<(), ThriftException> {
        to.write_struct_begin(&NAME)?;
        to.write_field_begin(pilota::thrift::TType::Binary, 1)?;
        to.write_bytes(Bytes::copy_from_slice(&self.0))?;
        to.write_field_end()?;
        to.write_field_stop()?;
        to.write_struct_end()
    }

    fn decode<T: TInputProtocol>(
        from: &mut T,
        about: &TMessageIdentifier,
    ) -> Result<Self, ThriftException> {
        let unknown = ApplicationExceptionKind::UNKNOWN_METHOD;
        let number = about.name.parse().ok().filter(|number| *number < CASES.len());
        let number = number.ok_or_else(|| new_application_exception(unknown, "no such struct"))?;
        through_pilota(number, from).map(Self)
    }

    async fn decode_async<T: TAsyncInputProtocol>(
        _: &mut T,
        _: &TMessageIdentifier,
    ) -> Result<Self, ThriftException> {
        unreachable!("messages are read at once")
    }

    fn size<T: TLengthProtocol>(&self, _: &mut T) -> usize {
        self.0.len() + 8
    }
}

struct Echo;

impl motore::Service<ServerContext, Written> for Echo {
    type Response = Written;
    type Error = ServerError;

    async fn call(&self, _: &mut ServerContext, given: Written) -> Result<Written, ServerError> {
        Ok(given)
    }
}

/// A method for each struct.
static METHODS: LazyLock<Vec<Method>> = LazyLock::new(|| {
    let name = |number: usize| -> &'static str { number.to_string().leak() };
    (0..CASES.len()).map(|it| Method::new("Corpus", name(it), false, Streaming::None)).collect()
});

/// A session with a server that ends with the test.
async fn session() -> Session {
    let folder = tempfile::tempdir().unwrap();
    let service = VoloService::<_, Written>::new(Echo, Methods::new("Corpus", &METHODS)).unwrap();
    let server = AsyncServer::bind(format!("shm:{}", folder.path().join("corpus").display()));
    let server = server.unwrap().add_service(service).unwrap();
    let address = server.address();
    tokio::spawn(server.serve());
    Session::connect(&address).await.unwrap()
}

/// Returns what pilota makes of these arguments, if it can read them. Another outcome is a failure.
async fn through_volo(session: &Session, number: usize, arguments: &[u8]) -> Option<Vec<u8>> {
    match session.call(METHODS[number].tag, arguments).await {
        Ok(reply) => {
            let reply = reply.to_vec();
            Some(reply[7..reply.len() - 1].to_vec())
        }
        Err(CallError::Failed { code: ErrorCode::Application(7), .. }) => None,
        Err(error) => panic!("{}: {error}: {arguments:x?}", CASES[number].name),
    }
}

/// Damages a message in one way of several.
fn damage(message: &mut Vec<u8>, dice: &mut Dice) {
    const TYPES: [u8; 14] = [0, 1, 2, 3, 4, 6, 8, 10, 11, 12, 13, 14, 15, 16];
    let at = dice.below(message.len());
    match dice.below(7) {
        0 => message[at] = dice.roll() as u8,
        1 => message[at] ^= 1 << dice.below(8),
        2 => message[at] = TYPES[dice.below(TYPES.len())],
        3 => message.truncate(at),
        4 => message.insert(at, dice.roll() as u8),
        5 => drop(message.remove(at)),
        _ => {
            let lengths = [i32::MAX, -1, i32::MIN, message.len() as i32, 1 << 20, 0];
            let length = lengths[dice.below(lengths.len())].to_be_bytes();
            for (to, from) in message[at..].iter_mut().zip(length) {
                *to = from;
            }
        }
    }
}

#[tokio::test]
async fn damaged_messages_are_refused_or_valid() {
    let schema = schema();
    let mut messages = Messages { schema: &schema, dice: Dice(11), tame: true };
    let session = session().await;
    let mut counts = [0; 2];
    for (number, case) in CASES.iter().enumerate() {
        let id = schema.find_struct(&format!("{}.{}", case.file, case.name)).unwrap();
        for _ in 0..20 {
            let message = messages.message(id, 4);
            assert!(through_volo(&session, number, &message).await.is_some(), "{}", case.name);
            for _ in 0..20 {
                let mut damaged = message.clone();
                for _ in 0..=messages.dice.below(3) {
                    if !damaged.is_empty() {
                        damage(&mut damaged, &mut messages.dice);
                    }
                }
                let written = through_volo(&session, number, &damaged).await;
                counts[usize::from(written.is_some())] += 1;
                if let Some(written) = written {
                    assert!((case.is_readable)(&written), "{}: {damaged:x?}", case.name);
                }
            }
        }
    }
    let [refused, valid] = counts;
    assert!(refused > 1_000 && valid > 1_000, "{refused} refused, {valid} valid");
}

fn schema() -> Schema {
    let corpus =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../crates/breezeway-idl/tests/corpus");
    let files = include!("../files.rs").map(|name| corpus.join(name).with_extension("thrift"));
    breezeway_idl::read(&files, &[]).unwrap()
}

fn number(name: &str) -> usize {
    CASES.iter().position(|case| case.name == name).unwrap()
}

fn list(of: u8, count: usize, elements: &[u8]) -> Vec<u8> {
    [&[of][..], &(count as i32).to_be_bytes(), elements].concat()
}

#[tokio::test]
async fn elements_and_union_fields_of_another_type_are_refused() {
    let session = session().await;
    let field = |of, number, value: &[u8]| [&[of, 0, number], value, &[0]].concat();
    // A list of i64 with as many bytes in elements of other types, and in the right one.
    for (of, count, is_read) in [(8, 2, false), (4, 1, false), (10, 1, true)] {
        let message = field(15, 2, &list(of, count, &[0; 8]));
        let read = through_volo(&session, number("FeedResponse"), &message).await;
        assert_eq!(read.is_some(), is_read, "{of}");
    }
    // A map of binaries and structs, of which the values are binaries.
    let message = field(13, 1, &[&[11][..], &list(11, 1, &[0; 8])].concat());
    assert_eq!(through_volo(&session, number("Found"), &message).await, None);
    // A union's string as a list of four bytes.
    let message = field(15, 2, &list(3, 4, b"cash"));
    assert_eq!(through_volo(&session, number("PaymentMethod"), &message).await, None);
}

#[tokio::test]
async fn nesting_and_counts_have_limits() {
    let session = session().await;
    let comment = [&[10, 0, 1][..], &[0; 8], &[11, 0, 2, 0, 0, 0, 0]].concat();
    for (depth, is_read) in [(64, true), (65, false), (100_000, false)] {
        let outer = [&comment[..], &[12, 0, 4]].concat().repeat(depth - 1);
        let message = [&outer[..], &comment, &vec![0; depth]].concat();
        let read = through_volo(&session, number("Comment"), &message).await;
        assert_eq!(read.is_some(), is_read, "{depth}");
        // Of a field that the IDL does not have.
        let message = [&[12, 0, 9].repeat(depth)[..], &vec![0; depth + 1]].concat();
        let read = through_volo(&session, number("FeedResponse"), &message).await;
        assert_eq!(read.is_some(), is_read, "{depth}");
    }
    for (more, is_read) in [(0, true), (1, false)] {
        let count = (1 << 20) + more;
        let message = [&[15, 0, 1][..], &list(11, count, &vec![0; 4 * count]), &[0]].concat();
        let stock = CASES.iter().position(|it| it.file == "order" && it.name == "OutOfStock");
        let read = through_volo(&session, stock.unwrap(), &message).await;
        assert_eq!(read.is_some(), is_read, "{count}");
    }
}

#[tokio::test]
async fn text_that_is_not_utf8_is_refused() {
    let session = session().await;
    for text in
        [&b"\xff"[..], b"\xed\xa0\x80", b"cut \xe2\x82", b"\xc0\x80 over the inline size of texts"]
    {
        let comment = [&[10, 0, 1][..], &[0; 8], &[11, 0, 2, 0, 0, 0], &[text.len() as u8], text];
        let message = [&comment.concat()[..], &[0]].concat();
        assert_eq!(through_volo(&session, number("Comment"), &message).await, None, "{text:x?}");
        // As a binary the same bytes are right.
        let key = [&[11, 0, 1, 0, 0, 0, text.len() as u8], text, &[0]].concat();
        assert!(through_volo(&session, number("Increment"), &key).await.is_some());
    }
}
