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
/// Records that a file of this version has room for.
pub const CAPACITY: usize = 4096;
/// Words of a record's histogram of handler times.
pub(super) const TIMES: usize = 128;
/// Size of that histogram in bytes.
pub const TIMES_SIZE: usize = 8 * TIMES;
/// Offset of the first record's histogram: behind all records.
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
            /// All fields, in the order of the ABI page.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Returns the field's name on the ABI page.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($name),)+ }
            }

            /// Returns a short description of the field.
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

            /// Adds the numbers of another session.
            pub fn add(&mut self, other: &Self) {
                $(self.$name = self.$name.wrapping_add(other.$name);)+
            }

            /// Returns the numbers that only grow: state ends with its session.
            pub(super) fn without_state(mut self) -> Self {
                for field in Field::ALL {
                    match field {
                        $(Field::$variant if field.is_state() => self.$name = 0,)+
                        _ => {}
                    }
                }
                self
            }

            /// Returns the number of one field.
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
    /// Error replies and resets sent.
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
    /// Error replies and resets received.
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
    /// Condition that this side waits for: 0 none, 1 an entry of the peer, 2 ring space, 3 payload
    /// memory.
    WaitsFor waits_for,
    /// Start of that wait in nanoseconds of `CLOCK_BOOTTIME`, if it sleeps or has spun for a
    /// millisecond.
    WaitsSince waits_since,
    /// Entries published in the own ring.
    Published published,
    /// Published entries that the peer is known to have consumed.
    Consumed consumed,
    /// Bytes of the own payload segments.
    OwnMemory own_memory,
    /// Bytes of the peer's payload segments that are mapped.
    PeerMemory peer_memory,
    /// Payloads lent to the peer and not known to be released.
    Lends lends,
    /// Bytes of the own payload memory that are reserved or lent, as far as is known.
    Lent lent,
    /// Bytes queued that the socket has not accepted.
    Unwritten unwritten,
    /// Streams that are open now.
    Streams streams,
    /// Calls, messages and streams that arrived and were not taken up yet.
    Arrivals arrivals,
    /// Address of the own control segment's mapping.
    OwnControl own_control,
    /// Address of the mapping of the peer's control segment.
    PeerControl peer_control,
    /// Calls whose handler was timed.
    Timed timed,
}

impl Field {
    /// Returns true if the field is a state and not a count.
    pub const fn is_state(self) -> bool {
        self as usize >= Self::WaitsFor as usize
    }
}

/// Word of the first number.
const FIRST_NUMBER: usize = Identity::MaxInFlight as usize + 1;

impl Field {
    /// Returns the index of the field's word in a record.
    #[inline(always)]
    pub(super) const fn word(self) -> usize {
        FIRST_NUMBER + self as usize
    }

    /// Returns the field's offset in a record, in bytes.
    pub const fn offset(self) -> usize {
        8 * self.word()
    }
}

const _: () = {
    assert!(FIRST_NUMBER + Field::ALL.len() <= RECORD_WORDS);
    // The words written for each message lie in one line per direction.
    assert!(Field::CallsSent.offset().is_multiple_of(64));
    assert!(Field::CallsReceived.offset().is_multiple_of(64));
};
