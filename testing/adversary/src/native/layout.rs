//! The ABI as a stranger reads it: every number here was typed from `docs/abi.md`, none is taken
//! from the project's code.
#![allow(missing_docs, reason = "the names are those of the page")]

/// Section 2: the hello.
pub mod hello {
    pub const MAGIC: &[u8; 8] = b"BRZWHELO";
    pub const MAGIC_AT: usize = 0;
    pub const VERSION_AT: usize = 8;
    pub const LENGTH_AT: usize = 10;
    pub const FEATURES_AT: usize = 12;
    pub const RING_CAPACITY_AT: usize = 16;
    pub const LEND_COUNT_AT: usize = 20;
    pub const CONTROL_SIZE_AT: usize = 24;
    pub const PAYLOAD_CAP_AT: usize = 32;
    pub const STATUS_AT: usize = 40;
    pub const RESERVED_AT: usize = 44;
    pub const STREAM_MESSAGES_AT: usize = 44;
    pub const STREAM_BYTES_AT: usize = 48;
    pub const MAX_STREAMS_AT: usize = 56;
    pub const MAX_METADATA_AT: usize = 60;
    pub const LEN: usize = 64;
    pub const FIELD_HEAD: usize = 4;
    pub const MAX_LEN: usize = 4096;
}

/// Section 2: why a session is refused.
pub mod refusal {
    pub const VERSION: u32 = 1;
    pub const DENIED: u32 = 2;
    pub const BUSY: u32 = 3;
    pub const NO_MEMORY: u32 = 4;
    pub const VIOLATION: u32 = 5;
    pub const CARRIER: u32 = 6;
}

/// Section 3.1: the control segment.
pub mod control {
    pub const MAGIC: &[u8; 8] = b"BRZWCTRL";
    pub const MAGIC_AT: usize = 0x000;
    pub const VERSION_AT: usize = 0x008;
    pub const CAPACITY_AT: usize = 0x010;
    pub const LENDS_AT: usize = 0x018;
    pub const CONSUMED_AT: usize = 0x080;
    pub const DATA_WAKE_AT: usize = 0x100;
    pub const SPACE_WAKE_AT: usize = 0x108;
    pub const CPU_AT: usize = 0x110;
    pub const RELEASE_WAKE_AT: usize = 0x118;
    pub const RELEASED_AT: usize = 0x180;
    pub const RELEASED_LEN: usize = 128;
    pub const RING_AT: usize = 0x1000;
    pub const NO_WAKE: u64 = u64::MAX;

    /// `size = 4096 + 128 × ring_capacity`, rounded up to 4096.
    pub fn size(capacity: u32) -> usize {
        (4096 + 128 * capacity as usize).next_multiple_of(4096)
    }
}

/// Section 4: the entry.
pub mod entry {
    pub const SIZE: usize = 128;
    pub const BODY_AT: usize = 24;
    pub const BODY_MAX: usize = 104;
}

/// Section 4.1: kinds.
pub mod kind {
    pub const MESSAGE: u8 = 1;
    pub const RESET: u8 = 2;
    pub const CANCEL: u8 = 3;
    pub const WINDOW: u8 = 4;
    pub const DEADLINE: u8 = 5;
    pub const SEGMENT_ADD: u8 = 6;
    pub const SEGMENT_RETIRE: u8 = 7;
    pub const GO_AWAY: u8 = 8;
    pub const SHUTDOWN: u8 = 9;
}

/// Section 4.1: flags.
pub mod flag {
    pub const OPEN: u8 = 0x01;
    pub const FIN: u8 = 0x02;
    pub const LENT: u8 = 0x04;
    pub const ERROR: u8 = 0x08;
    pub const NO_REPLY: u8 = 0x10;
    pub const DEFINED: u8 = 0x1f;
    /// A metadata block comes first.
    pub const METADATA: u8 = 0x20;
    /// On a stream: the entry carries no message.
    pub const EMPTY: u8 = 0x40;
    /// With `OPEN`: a stream.
    pub const STREAM: u8 = 0x80;
}

/// Section 1: bytes on the session socket.
pub mod socket {
    pub const DOORBELL: u8 = 0;
    pub const SEGMENT: u8 = 1;
    pub const MAX_UNANNOUNCED: usize = 64;
}

/// Section 8: the header of each body on a socket without shared memory.
pub mod frame {
    pub const HEADER_LEN: usize = 16;
}
