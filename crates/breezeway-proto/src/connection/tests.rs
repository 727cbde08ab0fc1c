//! Two sides of a session joined by two queues of entries, on schedules that a test scripts or
//! proptest finds, beside a model of the messages that each reader must receive.

mod calls;
mod ending;
mod model;
mod one_way;
mod stream_ends;
mod stream_violations;
mod streams;

use std::collections::VecDeque;
use std::convert::Infallible;

use super::streams::TooManyStreams;
use super::*;
use crate::ErrorCode;
use crate::entry::{ONE_WAY, REQUEST};
use crate::validate::Request;

/// Entry in transit from one side to the other.
#[derive(Clone, Debug)]
struct Wire {
    head: RawHead,
    body: Sent,
}

/// Body of an entry in transit.
#[derive(Clone, Debug)]
enum Sent {
    /// Content that an application sent.
    Content(Received),
    /// Body of a window entry.
    Bytes([u8; 8]),
    Nothing,
}

/// Content that an application sent, as it arrives: its serial number and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Received {
    content: u32,
    carried: Carried,
}

impl Payload for Received {
    fn message_len(&self) -> usize {
        self.carried.message.unwrap_or(0)
    }

    fn is_message(&self) -> bool {
        self.carried.message.is_some()
    }

    fn has_metadata(&self) -> bool {
        self.carried.metadata
    }

    fn reason(&self) -> String {
        self.content.to_string()
    }
}

impl IncomingBody<Received> for Sent {
    fn body_len(&self) -> usize {
        match self {
            Self::Content(received) => received.message_len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::Nothing => 0,
        }
    }

    fn copy_to(&self, bytes: &mut [u8; 8]) {
        let Self::Bytes(sent) = self else { panic!("{self:?} is not a window") };
        bytes.copy_from_slice(sent);
    }

    fn into_message(self) -> Received {
        match self {
            Self::Content(received) => received,
            Self::Bytes(_) | Self::Nothing => panic!("{self:?} is not a message"),
        }
    }

    fn into_parts(self, _: Parts) -> Result<Received, MetadataError> {
        Ok(self.into_message())
    }
}

const NO_BODY: Carried = Carried { message: None, metadata: false, last: false };

fn message(len: usize) -> Carried {
    Carried { message: Some(len), ..NO_BODY }
}

fn last(len: usize) -> Carried {
    Carried { last: true, ..message(len) }
}

const FIN: Carried = Carried { last: true, ..NO_BODY };

/// Method of every call and stream.
const METHOD: u32 = 7;

/// One side, with the entries that it has sent and its peer has not received. A number names each
/// waiter.
struct End {
    connection: Connection<Received, u32, (), ()>,
    sent: VecDeque<Wire>,
}

impl End {
    fn publish(&mut self, kind: Kind, number: u32, tag: u32, flags: Flags, body: Sent) {
        let head = RawHead { kind: kind as u8, flags: flags.bits(), stream: number, tag, time: 0 };
        self.sent.push_back(Wire { head, body });
    }

    fn publish_message(&mut self, number: u32, flags: Flags, carried: Carried, content: u32) {
        let has = |flag, is: bool| if is { flag } else { Flags::NONE };
        let flags = flags
            .with(has(Flags::EMPTY, carried.message.is_none()))
            .with(has(Flags::METADATA, carried.metadata))
            .with(has(Flags::FIN, carried.last));
        let body = Sent::Content(Received { content, carried });
        self.publish(Kind::Message, number, METHOD, flags, body);
    }

    /// Sends an entry with an empty body, which is not read.
    fn publish_bare(&mut self, kind: Kind, number: u32, tag: u32) {
        self.publish(kind, number, tag, Flags::NONE, Sent::Nothing);
    }

    fn streams(&mut self) -> &mut Streams<Received> {
        &mut self.connection.streams
    }

    fn open(&mut self, carried: Carried, content: u32) -> Result<StreamKey, TooManyStreams> {
        self.streams().may_open()?;
        let number = self.connection.next_number();
        self.publish_message(number, Flags::OPEN.with(Flags::STREAM), carried, content);
        Ok(self.connection.stream_opened(carried))
    }

    /// Sends an entry. Every second message without metadata takes the short path, which makes the
    /// same decisions.
    fn send(&mut self, key: StreamKey, carried: Carried, content: u32) -> Result<(), Refusal> {
        if carried == message(carried.message.unwrap_or(0)) && content.is_multiple_of(2) {
            return self.send_message(key, carried, content);
        }
        self.streams().may_send(key, carried)?;
        let number = self.streams().number(key);
        self.publish_message(number, Flags::NONE, carried, content);
        self.streams().sent(key, carried);
        Ok(())
    }

    fn send_message(
        &mut self,
        key: StreamKey,
        carried: Carried,
        content: u32,
    ) -> Result<(), Refusal> {
        let may_send = self.streams().may_send(key, carried);
        let mut number = None;
        let sent = self.streams().send_message(
            key,
            Received { content, carried }.message_len(),
            |stream| {
                number = Some(stream);
                Ok::<_, Infallible>(())
            },
        );
        assert_eq!(sent.is_some(), may_send.is_ok());
        if let (Some(Ok(is_quiet)), Some(number)) = (sent, number) {
            assert_eq!(is_quiet, self.streams().is_quiet(key));
            self.publish_message(number, Flags::NONE, carried, content);
        }
        may_send
    }

    /// Makes a call if one more is allowed. Returns its number.
    fn call(&mut self, content: u32) -> Option<u32> {
        if !self.connection.calls.has_room() {
            return None;
        }
        let number = self.connection.next_number();
        self.publish_message(number, REQUEST, message(5), content);
        self.connection.call_sent();
        Some(number)
    }

    /// Sends a one-way message if that is allowed. Returns true if it did.
    fn post(&mut self, len: usize, content: u32) -> bool {
        let may_send = self.streams().may_send_one_way();
        if may_send {
            let number = self.connection.next_number();
            self.publish_message(number, ONE_WAY, message(len), content);
            self.connection.one_way_sent(len);
        }
        may_send
    }

    /// Answers a call with a result or an error code. Returns the waiter for its cancellation.
    fn reply(&mut self, number: u32, content: u32, failure: Option<ErrorCode>) -> Option<u32> {
        let waiter = self.connection.served.end(number);
        let carried = last(5);
        let flags = if failure.is_some() { Flags::FIN.with(Flags::ERROR) } else { Flags::FIN };
        let tag = failure.map_or(0, ErrorCode::number);
        let body = Sent::Content(Received { content, carried });
        self.publish(Kind::Message, number, tag, flags, body);
        waiter
    }

    /// Takes the next call or one-way message.
    fn take_request(&mut self) -> Option<(Request, u32)> {
        match self.connection.take_arrival()? {
            Arrival::Call(request, received, _) => {
                if request.one_way {
                    self.connection.one_way_ended(received.message_len());
                }
                Some((request, received.content))
            }
            arrival => panic!("{arrival:?}"),
        }
    }

    /// Takes the oldest content received on a stream.
    fn take(&mut self, key: StreamKey) -> RecvState<u32> {
        self.streams().take(key, |received| received.content)
    }

    /// Accepts the next stream.
    fn accept(&mut self) -> Option<StreamKey> {
        match self.connection.take_arrival()? {
            Arrival::Stream { key, method: METHOD, .. } => Some(key),
            arrival => panic!("{arrival:?}"),
        }
    }

    /// Sends all pending entries.
    fn settle(&mut self) {
        while self.settle_one() {}
    }

    fn settle_one(&mut self) -> bool {
        let Some(control) = self.connection.next_transmit() else { return false };
        match control {
            Transmit::GoAway => self.publish_bare(Kind::GoAway, 0, 0),
            Transmit::Window { number, consumed } => {
                let body = Sent::Bytes(consumed.bytes.to_le_bytes());
                self.publish(Kind::Window, number, consumed.messages, Flags::NONE, body);
            }
            Transmit::Reset { number, code } => {
                self.publish_bare(Kind::Reset, number, code.number());
            }
            Transmit::Finish { number } => self.publish_message(number, Flags::NONE, FIN, 0),
        }
        self.connection.transmitted();
        true
    }

    fn receive(&mut self, wire: Wire) -> Result<Event<u32>, Violation> {
        let deadline = match wire.head.time {
            0 => Time::NEVER,
            time => Time::from_ticks(time.into()),
        };
        self.connection.receive(wire.head, wire.body, deadline)
    }
}

/// Both sides of a session.
struct Pair {
    client: End,
    server: End,
}

const WINDOW: Window = Window { messages: 4, bytes: 100 };
const MAX_IN_FLIGHT: usize = 4;
const LINGER: u64 = 100;
const TERMS: StreamTerms = StreamTerms { window: WINDOW, max_streams: 3 };

impl Pair {
    fn new() -> Self {
        Self::with(TERMS, TERMS)
    }

    fn with(client: StreamTerms, server: StreamTerms) -> Self {
        let end = |is_client, own, peers| {
            let streams = Streams::new(is_client, own, peers);
            let mut connection = Connection::new(is_client, streams, MAX_IN_FLIGHT, 1_000);
            connection.ending = Ending::new(!is_client, LINGER);
            End { connection, sent: VecDeque::new() }
        };
        Self { client: end(true, client, server), server: end(false, server, client) }
    }

    /// Lets the server receive all entries in transit.
    fn server_receives(&mut self) -> Vec<Event<u32>> {
        let wires: Vec<_> = self.client.sent.drain(..).collect();
        wires.into_iter().map(|wire| self.server.receive(wire).unwrap()).collect()
    }

    /// Lets the client receive all entries in transit.
    fn client_receives(&mut self) -> Vec<Event<u32>> {
        let wires: Vec<_> = self.server.sent.drain(..).collect();
        wires.into_iter().map(|wire| self.client.receive(wire).unwrap()).collect()
    }

    /// Opens a stream at the client and accepts it at the server. Returns both keys.
    fn open(&mut self) -> (StreamKey, StreamKey) {
        let here = self.client.open(NO_BODY, 0).unwrap();
        let events = self.server_receives();
        assert_eq!(events, [Event::Arrived]);
        (here, self.server.accept().expect("it arrived"))
    }
}
