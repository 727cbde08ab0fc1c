//! The layout: constants only, fixed by `docs/abi.md`, section 9.

/// `BRZWSTAT`, the first eight bytes of the file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"BRZWSTAT");
/// Version of this layout.
pub const VERSION: u64 = 1;
/// Bytes before the first record.
pub const HEADER_SIZE: usize = 4096;
/// Bytes of a record.
pub const RECORD_SIZE: usize = 512;
/// 64-bit words of a record.
pub(super) const RECORD_WORDS: usize = RECORD_SIZE / 8;
/// Records that this version makes room for.
pub const CAPACITY: usize = 4096;
/// Words that say how many handlers took how long, of each record.
pub(super) const TIMES: usize = 128;
/// Bytes of them.
pub const TIMES_SIZE: usize = 8 * TIMES;
/// Where those of the first record begin: behind all records.
pub(super) const TIMES_OFFSET: usize = HEADER_SIZE + CAPACITY * RECORD_SIZE;

/// Words of the header, in their order.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub(super) enum Header {
    Magic,
    Version,
    RecordSize,
    Capacity,
    Used,
    Opened,
    Unrecorded,
    Since,
    TimesOffset,
    TimesSize,
}

/// Words of a record up to the first number.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub(super) enum Identity {
    Sequence,
    Number,
    Kind,
    Peer,
    Since,
    Cap,
    Rings,
    MaxInFlight,
}

macro_rules! numbers {
    ($($(#[doc = $doc:literal])+ $variant:ident $name:ident,)+) => {
        /// A number of a record; each is the word behind the one before it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Field {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Field {
            /// All, in the order of the page.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Its name on the page.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($name),)+ }
            }

            /// What it is, in a few words.
            pub const fn description(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),+).trim_ascii_start(),)+ }
            }
        }

        /// The numbers of one session, or the sums of several.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Totals {
            $($(#[doc = $doc])+ pub $name: u64,)+
        }

        impl Totals {
            pub(super) fn read(word: impl Fn(usize) -> u64) -> Self {
                Self { $($name: word(Field::$variant.word()),)+ }
            }

            /// Adds those of another session.
            pub fn add(&mut self, other: &Self) {
                $(self.$name = self.$name.wrapping_add(other.$name);)+
            }

            /// Those that only grow: what a session holds and waits for ends with it.
            pub(super) fn without_state(mut self) -> Self {
                for field in Field::ALL {
                    match field { $(Field::$variant if field.is_state() => self.$name = 0,)+ _ => {} }
                }
                self
            }

            /// One by its field.
            pub fn get(&self, field: Field) -> u64 {
                match field { $(Field::$variant => self.$name,)+ }
            }
        }
    };
}

numbers! {
    /// Calls begun by this side.
    CallsSent calls_sent,
    /// One-way messages sent.
    PostsSent posts_sent,
    /// Streams opened by this side.
    StreamsSent streams_sent,
    /// Further messages of streams, sent.
    MessagesSent messages_sent,
    /// Replies, and last messages of streams, sent.
    EndsSent ends_sent,
    /// Replies that say that a call failed, and resets, sent.
    ErrorsSent errors_sent,
    /// All other entries sent.
    ControlsSent controls_sent,
    /// Bytes of message bodies sent.
    BytesSent bytes_sent,
    /// Calls that the peer has begun.
    CallsReceived calls_received,
    /// One-way messages received.
    PostsReceived posts_received,
    /// Streams that the peer has opened.
    StreamsReceived streams_received,
    /// Further messages of streams, received.
    MessagesReceived messages_received,
    /// Replies, and last messages of streams, received.
    EndsReceived ends_received,
    /// Replies that say that a call failed, and resets, received.
    ErrorsReceived errors_received,
    /// All other entries received.
    ControlsReceived controls_received,
    /// Bytes of message bodies received.
    BytesReceived bytes_received,
    /// Waits that ended while spinning, of those that took more than a microsecond or so.
    Spun spun,
    /// Waits that slept.
    Slept slept,
    /// Nanoseconds spent spinning in these waits.
    SpinTime spin_time,
    /// Doorbells rung, and writes to a socket.
    Doorbells doorbells,
    /// Messages that found the ring, or the socket, full.
    RingFull ring_full,
    /// Reservations that found no memory.
    NoMemory no_memory,
    /// What this side waits for: 0 nothing, 1 what the peer sends, 2 the peer to take entries, 3
    /// memory to come back.
    WaitsFor waits_for,
    /// Since when, in nanoseconds of `CLOCK_BOOTTIME`, if it sleeps or has spun for a
    /// millisecond.
    WaitsSince waits_since,
    /// Entries published in the own ring.
    Published published,
    /// How many of these the peer is known to have consumed.
    Consumed consumed,
    /// Bytes of the own payload segments.
    OwnMemory own_memory,
    /// Bytes of the peer's payload segments that are mapped.
    PeerMemory peer_memory,
    /// Payloads lent to the peer and not known to be released.
    Lends lends,
    /// Bytes of the own payload memory that are reserved or lent, as far as is known.
    Lent lent,
    /// Bytes that the socket has not taken.
    Unwritten unwritten,
    /// Streams that are open now.
    Streams streams,
    /// Calls, messages and streams that have come and nobody has taken up.
    Arrivals arrivals,
    /// Where the process has mapped its own control segment.
    OwnControl own_control,
    /// Where it has mapped the peer's.
    PeerControl peer_control,
    /// Calls whose handler was timed.
    Timed timed,
}

impl Field {
    /// Whether it says how things are, and not how often something was.
    pub const fn is_state(self) -> bool {
        self as usize >= Self::WaitsFor as usize
    }
}

/// Where the numbers begin.
const FIRST_NUMBER: usize = Identity::MaxInFlight as usize + 1;

impl Field {
    /// Which word of a record it is.
    #[inline(always)]
    pub(super) const fn word(self) -> usize {
        FIRST_NUMBER + self as usize
    }

    /// Its offset in a record, in bytes.
    pub const fn offset(self) -> usize {
        8 * self.word()
    }
}

const _: () = {
    assert!(FIRST_NUMBER + Field::ALL.len() <= RECORD_WORDS);
    // What is written for each message lies in one line for each direction.
    assert!(Field::CallsSent.offset().is_multiple_of(64));
    assert!(Field::CallsReceived.offset().is_multiple_of(64));
};
