//! Two sides of a session joined by two queues of entries, on schedules that a test scripts or
//! proptest finds, beside a model of what each reader must see.

mod calls;
mod ending;
mod model;
mod scripted;

use std::collections::VecDeque;
use std::convert::Infallible;

use super::streams::TooManyStreams;
use super::*;
use crate::ErrorCode;
use crate::validate::{ONE_WAY, REQUEST, Request};

/// What travels from one side to the other.
#[derive(Clone, Debug)]
struct Wire {
    head: RawHead,
    body: Sent,
}

/// A body on its way.
#[derive(Clone, Debug)]
enum Sent {
    /// What an application sent.
    Content(Received),
    /// What a window entry gives back.
    Bytes([u8; 8]),
    Nothing,
}

/// What an application sent, as it arrives: which of all it is, and its length.
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
        let Self::Bytes(sent) = self else { panic!("{self:?} is no window") };
        bytes.copy_from_slice(sent);
    }

    fn into_message(self) -> Received {
        match self {
            Self::Content(received) => received,
            Self::Bytes(_) | Self::Nothing => panic!("{self:?} is no message"),
        }
    }

    fn into_parts(self, _: Flags) -> Result<Received, MetadataError> {
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

/// The method of every call and stream.
const METHOD: u32 = 7;

/// One side, with what it has sent and the other has not received. Whoever waits is known by a
/// number.
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

    /// An entry whose body is not read.
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

    /// Of messages alone every second goes the short way, which decides the same.
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

    /// Makes a call, if that may be; gives its number.
    fn call(&mut self, content: u32) -> Option<u32> {
        if !self.connection.calls.has_room() {
            return None;
        }
        let number = self.connection.next_number();
        self.publish_message(number, REQUEST, message(5), content);
        self.connection.call_sent();
        Some(number)
    }

    /// Sends a one-way message, if that may be.
    fn post(&mut self, len: usize, content: u32) -> bool {
        let may_send = self.streams().may_send_one_way();
        if may_send {
            let number = self.connection.next_number();
            self.publish_message(number, ONE_WAY, message(len), content);
            self.connection.one_way_sent(len);
        }
        may_send
    }

    /// Answers a call, well or with a code.
    fn reply(&mut self, number: u32, content: u32, failure: Option<ErrorCode>) -> Option<u32> {
        let waiter = self.connection.served.end(number);
        let carried = last(5);
        let flags = if failure.is_some() { Flags::FIN.with(Flags::ERROR) } else { Flags::FIN };
        let tag = failure.map_or(0, ErrorCode::number);
        let body = Sent::Content(Received { content, carried });
        self.publish(Kind::Message, number, tag, flags, body);
        waiter
    }

    /// Takes up a call or a one-way message.
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

    /// Takes the oldest that was received on a stream.
    fn take(&mut self, key: StreamKey) -> RecvState<u32> {
        self.streams().take(key, |received| received.content)
    }

    /// Takes up a stream.
    fn accept(&mut self) -> Option<StreamKey> {
        match self.connection.take_arrival()? {
            Arrival::Stream { key, method: METHOD, .. } => Some(key),
            arrival => panic!("{arrival:?}"),
        }
    }

    /// Sends everything that is owed.
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

/// Both sides.
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

    /// The server receives everything.
    fn server_receives(&mut self) -> Vec<Event<u32>> {
        let wires: Vec<_> = self.client.sent.drain(..).collect();
        wires.into_iter().map(|wire| self.server.receive(wire).unwrap()).collect()
    }

    /// The client receives everything.
    fn client_receives(&mut self) -> Vec<Event<u32>> {
        let wires: Vec<_> = self.server.sent.drain(..).collect();
        wires.into_iter().map(|wire| self.client.receive(wire).unwrap()).collect()
    }

    /// The client opens a stream and the server has it.
    fn open(&mut self) -> (StreamKey, StreamKey) {
        let here = self.client.open(NO_BODY, 0).unwrap();
        let events = self.server_receives();
        assert_eq!(events, [Event::Arrived]);
        (here, self.server.accept().expect("it arrived"))
    }
}
