//! The ABI as a stranger reads it: every number here was typed from `docs/abi.md`, none is taken from the project's code.

/// Section 2: the hello.
pub(crate) mod hello {
    pub(crate) const MAGIC: &[u8; 8] = b"BRZWHELO";
    pub(crate) const MAGIC_AT: usize = 0;
    pub(crate) const VERSION_AT: usize = 8;
    pub(crate) const LENGTH_AT: usize = 10;
    pub(crate) const FEATURES_AT: usize = 12;
    pub(crate) const RING_CAPACITY_AT: usize = 16;
    pub(crate) const LEND_COUNT_AT: usize = 20;
    pub(crate) const CONTROL_SIZE_AT: usize = 24;
    pub(crate) const PAYLOAD_CAP_AT: usize = 32;
    pub(crate) const STATUS_AT: usize = 40;
    pub(crate) const RESERVED_AT: usize = 44;
    pub(crate) const LEN: usize = 64;
    pub(crate) const LONGEST: usize = 4096;
}

/// Section 2: why a session is refused.
pub(crate) mod refusal {
    pub(crate) const VERSION: u32 = 1;
    pub(crate) const BUSY: u32 = 3;
    pub(crate) const VIOLATION: u32 = 5;
    pub(crate) const CARRIER: u32 = 6;
}

/// Section 3.1: the control segment.
pub(crate) mod control {
    pub(crate) const MAGIC: &[u8; 8] = b"BRZWCTRL";
    pub(crate) const MAGIC_AT: usize = 0x000;
    pub(crate) const VERSION_AT: usize = 0x008;
    pub(crate) const CAPACITY_AT: usize = 0x010;
    pub(crate) const LENDS_AT: usize = 0x018;
    pub(crate) const CONSUMED_AT: usize = 0x080;
    pub(crate) const DATA_WAKE_AT: usize = 0x100;
    pub(crate) const SPACE_WAKE_AT: usize = 0x108;
    pub(crate) const CPU_AT: usize = 0x110;
    pub(crate) const RELEASED_AT: usize = 0x180;
    pub(crate) const RELEASED_LEN: usize = 128;
    pub(crate) const RING_AT: usize = 0x1000;
    pub(crate) const NO_WAKE: u64 = u64::MAX;

    /// `size = 4096 + 128 × ring_capacity`, rounded up to 4096.
    pub(crate) fn size(capacity: u32) -> usize {
        (4096 + 128 * capacity as usize).next_multiple_of(4096)
    }
}

/// Section 4: the entry.
pub(crate) mod entry {
    pub(crate) const SIZE: usize = 128;
    pub(crate) const BODY_AT: usize = 24;
    pub(crate) const BODY_MAX: usize = 104;
}

/// Section 4.1: kinds.
pub(crate) mod kind {
    pub(crate) const MESSAGE: u8 = 1;
    pub(crate) const RESET: u8 = 2;
    pub(crate) const CANCEL: u8 = 3;
    pub(crate) const WINDOW_UPDATE: u8 = 4;
    pub(crate) const DEADLINE: u8 = 5;
    pub(crate) const SEGMENT_ADD: u8 = 6;
    pub(crate) const SEGMENT_RETIRE: u8 = 7;
    pub(crate) const GO_AWAY: u8 = 8;
    pub(crate) const SHUTDOWN: u8 = 9;
}

/// Section 4.1: flags.
pub(crate) mod flag {
    pub(crate) const OPEN: u8 = 0x01;
    pub(crate) const FIN: u8 = 0x02;
    pub(crate) const LENT: u8 = 0x04;
    pub(crate) const ERROR: u8 = 0x08;
    pub(crate) const NO_REPLY: u8 = 0x10;
    pub(crate) const DEFINED: u8 = 0x1f;
}

/// Section 1: bytes on the session socket.
pub(crate) mod socket {
    pub(crate) const DOORBELL: u8 = 0;
    pub(crate) const SEGMENT: u8 = 1;
    pub(crate) const MOST_UNANNOUNCED: usize = 64;
}
