//! Runs the core against arbitrary entries of a peer, beside a count of the content that it may
//! keep of them and of the messages that it may send. **Nothing here keeps its form from one
//! release to the next.**

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

use super::*;
use arbitrary::{Arbitrary, Unstructured};

const WINDOW: Window = Window { messages: 4, bytes: 100 };
const TERMS: StreamTerms = StreamTerms { window: WINDOW, max_streams: 3 };
const MAX_IN_FLIGHT: usize = 4;
const MAX_METADATA: usize = 64;
const MOST_ONE_WAY_BYTES: usize = 1_000;
/// Maximum number that the application holds at once of streams, of calls and of requests.
const MOST_HELD: usize = 8;

/// Step of the peer or of the application.
#[derive(Arbitrary, Debug)]
enum Step {
    Entry { kind: u8, flags: u8, number: u32, tag: u32, body: Body },
    Message { flags: u8, number: u8, body: Body },
    Window { number: u8, messages: u8, bytes: u16 },
    AnyWindow { number: u8, messages: u32, bytes: u64 },
    Control { kind: u8, number: u8, code: u8 },

    TakeArrival,
    Open(Outgoing),
    Send(u8, Outgoing),
    Take(u8),
    Reset(u8),
    Abandon(u8),
    Call,
    TakeAnswer(u8),
    GiveUp(u8),
    Reply(u8),
    Post(u8),
    Settle,
}

/// Entry that the application sends.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Outgoing {
    message: Option<u8>,
    metadata: bool,
    last: bool,
}

impl From<Outgoing> for Carried {
    fn from(Outgoing { message, metadata, last }: Outgoing) -> Self {
        Self { message: message.map(usize::from), metadata, last }
    }
}

/// Received body of `len` bytes that begins with `first`.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Body {
    len: u16,
    first: [u8; 8],
}

/// Content that is kept of a body, counted until it is dropped.
struct Kept {
    len: usize,
    is_message: bool,
    has_metadata: bool,
    counted: Rc<Cell<usize>>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.counted.set(self.counted.get() - 1);
    }
}

impl Payload for Kept {
    fn message_len(&self) -> usize {
        self.len
    }

    fn is_message(&self) -> bool {
        self.is_message
    }

    fn has_metadata(&self) -> bool {
        self.has_metadata
    }

    fn reason(&self) -> String {
        self.len.to_string()
    }
}

/// Body that is being received.
struct Coming {
    body: Body,
    counted: Rc<Cell<usize>>,
}

impl Coming {
    fn keep(self, len: usize, parts: Parts) -> Kept {
        let Self { counted, .. } = self;
        counted.set(counted.get() + 1);
        Kept { len, is_message: parts.message, has_metadata: parts.metadata, counted }
    }
}

impl IncomingBody<Kept> for Coming {
    fn body_len(&self) -> usize {
        usize::from(self.body.len)
    }

    fn copy_to(&self, bytes: &mut [u8; 8]) {
        *bytes = self.body.first;
    }

    fn into_message(self) -> Kept {
        let len = self.body_len();
        self.keep(len, Parts::MESSAGE)
    }

    fn into_parts(self, parts: Parts) -> Result<Kept, MetadataError> {
        let len = self.body_len();
        if !parts.metadata {
            return Ok(self.keep(len, parts));
        }
        let prefix = (len >= METADATA_PREFIX).then(|| [self.body.first[0], self.body.first[1]]);
        let metadata = split(len, prefix, MAX_METADATA)?;
        Ok(self.keep(len - METADATA_PREFIX - metadata, parts))
    }
}

/// Messages in flight of a stream or of one-way messages: sent, and not returned by a window entry.
#[derive(Default)]
struct UnderWay {
    messages: u32,
    bytes: u64,
}

impl UnderWay {
    /// Counts a message that is sent. Some of the window must be left for it.
    fn send(&mut self, len: usize) {
        assert!(self.messages < WINDOW.messages && self.bytes < WINDOW.bytes, "past the window");
        self.messages += 1;
        self.bytes += len as u64;
    }

    /// Deducts messages and bytes that the peer has returned and the core has accepted.
    fn give_back(&mut self, consumed: Window) {
        let less = |of: u64, what| of.checked_sub(what).expect("more than was under way");
        self.messages = less(self.messages.into(), consumed.messages.into()) as u32;
        self.bytes = less(self.bytes, consumed.bytes);
    }
}

struct Application {
    connection: Connection<Kept, u32, (), ()>,
    /// Number of the peer's messages that are kept.
    kept: Rc<Cell<usize>>,
    streams: Vec<StreamKey>,
    calls: Vec<u32>,
    requests: Vec<u32>,
    one_way: UnderWay,
    under_way: HashMap<StreamKey, UnderWay>,
    most_one_way: usize,
}

/// Runs one input: the side, the use of a window for one-way messages, and steps.
pub fn run(data: &[u8]) {
    let input = <(bool, bool, Vec<Step>)>::arbitrary_take_rest(Unstructured::new(data));
    let Ok((is_client, has_one_way_window, steps)) = input else { return };
    let mut streams = Streams::new(is_client, TERMS, TERMS);
    if has_one_way_window {
        streams.limit_one_way(WINDOW);
    }
    let mut application = Application {
        connection: Connection::new(is_client, streams, MAX_IN_FLIGHT, MOST_ONE_WAY_BYTES),
        kept: Rc::default(),
        streams: Vec::new(),
        calls: Vec::new(),
        requests: Vec::new(),
        one_way: UnderWay::default(),
        under_way: HashMap::new(),
        most_one_way: if has_one_way_window { WINDOW.messages as usize } else { MAX_ONE_WAY },
    };
    for step in steps.into_iter().take(1_000) {
        if let Err(violation) = application.step(step) {
            assert!(!violation.to_string().is_empty());
            return;
        }
        application.check();
    }
    application.let_go();
}

fn head(kind: u8, flags: u8, stream: u32, tag: u32) -> RawHead {
    RawHead { kind, flags, stream, tag, time: 0 }
}

impl Application {
    fn step(&mut self, step: Step) -> Result<(), Violation> {
        const NONE: Body = Body { len: 0, first: [0; 8] };
        match step {
            Step::Entry { kind, flags, number, tag, body } => {
                self.receive(head(kind, flags, number, tag), body)?;
            }
            Step::Message { flags, number, body } => {
                let body = Body { len: body.len % 256, ..body };
                self.receive(head(Kind::Message as u8, flags, number.into(), 7), body)?;
            }
            Step::Window { number, messages, bytes } => {
                self.receive_window(number.into(), messages.into(), bytes.into())?;
            }
            Step::AnyWindow { number, messages, bytes } => {
                self.receive_window(number.into(), messages, bytes)?;
            }
            Step::Control { kind, number, code } => {
                let kinds = [Kind::Reset, Kind::Cancel, Kind::GoAway, Kind::Shutdown];
                let kind = kinds[usize::from(kind % 4)] as u8;
                self.receive(head(kind, 0, number.into(), code.into()), NONE)?;
            }
            ours => self.own_step(ours),
        }
        Ok(())
    }

    fn receive_window(&mut self, number: u32, messages: u32, bytes: u64) -> Result<(), Violation> {
        let body = Body { len: 8, first: bytes.to_le_bytes() };
        self.receive(head(Kind::Window as u8, 0, number, messages), body)
    }

    fn receive(&mut self, head: RawHead, body: Body) -> Result<(), Violation> {
        // Drivers do the same, and leave the rest in the ring.
        if !self.connection.takes_entries() {
            return Ok(());
        }
        let stream = self.connection.streams.find(head.stream);
        let coming = Coming { body, counted: Rc::clone(&self.kept) };
        self.connection.receive(head, coming, Time::NEVER)?;
        if head.kind == Kind::Window as u8 {
            let bytes = u64::from_le_bytes(body.first);
            let consumed = Window { messages: head.tag, bytes };
            match stream {
                Some(key) => self.under_way.entry(key).or_default().give_back(consumed),
                None if head.stream == 0 => self.one_way.give_back(consumed),
                None => {}
            }
        }
        Ok(())
    }

    fn own_step(&mut self, step: Step) {
        match step {
            Step::TakeArrival => self.take_arrival(),
            Step::Open(outgoing) => self.open(outgoing.into()),
            Step::Send(which, outgoing) => self.send(which, outgoing.into()),
            Step::Take(which) => {
                if let Some(key) = self.stream(which) {
                    self.connection.streams.take(key, |_| ());
                }
            }
            Step::Reset(which) => {
                if let Some(key) = self.stream(which) {
                    self.connection.streams.reset(key, ErrorCode::Application(1));
                }
            }
            Step::Abandon(which) => {
                if !self.streams.is_empty() {
                    self.abandon(usize::from(which) % self.streams.len());
                }
            }
            Step::Call => self.call(),
            Step::TakeAnswer(which) => {
                let calls = &mut self.connection.calls;
                self.calls.retain(|&number| number as u8 != which || calls.take(number).is_none());
            }
            Step::GiveUp(which) => {
                if !self.calls.is_empty() {
                    let number = self.calls.swap_remove(usize::from(which) % self.calls.len());
                    self.connection.calls.give_up(number);
                }
            }
            Step::Reply(which) => {
                if !self.requests.is_empty() {
                    let at = usize::from(which) % self.requests.len();
                    self.connection.served.end(self.requests.swap_remove(at));
                }
            }
            Step::Post(len) => self.post(len.into()),
            Step::Settle => drop(self.settle()),
            _ => unreachable!("the peer's steps are done elsewhere"),
        }
    }

    fn stream(&self, which: u8) -> Option<StreamKey> {
        let at = usize::from(which).checked_rem(self.streams.len())?;
        Some(self.streams[at])
    }

    fn hold(&mut self, key: StreamKey) {
        self.streams.push(key);
        if self.streams.len() > MOST_HELD {
            self.abandon(0);
        }
    }

    fn abandon(&mut self, at: usize) {
        let key = self.streams.remove(at);
        self.connection.streams.abandon(key);
    }

    fn take_arrival(&mut self) {
        match self.connection.take_arrival() {
            None => {}
            Some(Arrival::Stream { key, .. }) => self.hold(key),
            Some(Arrival::Call(request, message, _)) if request.one_way => {
                self.connection.one_way_ended(message.message_len());
            }
            Some(Arrival::Call(request, ..)) => self.requests.push(request.stream),
        }
    }

    fn open(&mut self, carried: Carried) {
        let is_allowed = self.connection.streams.may_open().is_ok();
        if !is_allowed || self.connection.ending.is_going_away() {
            return;
        }
        let key = self.connection.stream_opened(carried);
        let under_way = self.under_way.entry(key).or_default();
        carried.message.into_iter().for_each(|len| under_way.send(len));
        self.hold(key);
    }

    fn send(&mut self, which: u8, carried: Carried) {
        let Some(key) = self.stream(which) else { return };
        if self.connection.streams.may_send(key, carried).is_ok() {
            let under_way = self.under_way.entry(key).or_default();
            carried.message.into_iter().for_each(|len| under_way.send(len));
            self.connection.streams.sent(key, carried);
        }
    }

    fn call(&mut self) {
        if !self.connection.is_client || !self.connection.calls.has_room() {
            return;
        }
        let number = self.connection.next_number();
        self.connection.call_sent();
        self.calls.push(number);
        if self.calls.len() > MOST_HELD {
            let oldest = self.calls.remove(0);
            self.connection.calls.give_up(oldest);
        }
    }

    fn post(&mut self, len: usize) {
        if !self.connection.is_client || !self.connection.streams.may_send_one_way() {
            return;
        }
        if self.connection.streams.limits_one_way() {
            self.one_way.send(len);
        }
        self.connection.one_way_sent(len);
    }

    /// Sends a pending entry. Returns true if there was one.
    fn settle(&mut self) -> bool {
        let is_owed = self.connection.streams.next_transmit().is_some();
        if is_owed {
            self.connection.streams.transmitted();
        }
        is_owed
    }

    /// Checks that no more of the peer's messages are kept than the terms and the application's
    /// handles allow.
    fn check(&self) {
        let each = WINDOW.messages as usize + 2;
        let streams = MOST_HELD + 3 * usize::from(TERMS.max_streams) + 1;
        let calls = MOST_HELD + 2 * MAX_IN_FLIGHT;
        let most = each * streams + calls + self.most_one_way + 1;
        assert!(self.kept.get() <= most, "{} messages are kept", self.kept.get());
        let open = self.connection.streams.open_count();
        assert!(open <= 2 * usize::from(TERMS.max_streams), "{open} streams are open");
        assert!(self.connection.served.len() <= MAX_IN_FLIGHT);
    }

    /// Drops everything that the application holds, and checks that only streams that the peer has
    /// to end remain.
    fn let_go(mut self) {
        while !self.connection.arrivals.is_empty() {
            self.take_arrival();
        }
        while !self.streams.is_empty() {
            self.abandon(0);
        }
        for number in std::mem::take(&mut self.calls) {
            self.connection.calls.give_up(number);
        }
        // At most a reset for each stream, and the window of one-way messages, are pending.
        let most = self.connection.streams.kept() + 1;
        let owed = (0..=most).take_while(|_| self.settle()).count();
        assert!(owed <= most, "more is owed than there are streams");
        assert_eq!(self.kept.get(), 0, "messages without a reader");
        assert_eq!(self.connection.streams.kept(), self.connection.streams.open_count());
    }
}
