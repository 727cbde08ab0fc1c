//! The rules of the protocol that a peer can break, one variant each, so that a log line names the
//! event.

use thiserror::Error;

/// A rule that the peer broke. The session is over; others are not affected.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// A message header without the magic number.
    #[error("the message header has magic {0:#06x}, not 0x7758")]
    Magic(u16),
    /// Protocol version 0 in a message header.
    #[error("the message header has protocol version 0")]
    VersionZero,
    /// The first message names an unsupported protocol version.
    #[error("protocol version {0} is not supported; 2 and 3 are")]
    Version(u8),
    /// A message of a type that is not allowed now, or for this role.
    #[error("message type {0} has no place here")]
    MessageType(u8),
    /// The declared length of a message cannot hold its fields, or exceeds the maximum of its type.
    #[error("a message of type {kind} declares a length of {length} bytes")]
    MessageLength {
        /// Type of the message.
        kind: u8,
        /// The declared length, header included.
        length: u32,
    },
    /// The names of the regions do not fill the announced length.
    #[error("the lengths of the region names do not agree with the message's length")]
    NameLength,
    /// A name of a region is not UTF-8 or has a zero byte.
    #[error("the name of a region is not text")]
    NameText,
    /// The peer was to send two descriptors and one byte.
    #[error("two file descriptors and one byte were expected, {descriptors} and {bytes} came")]
    Descriptors {
        /// Descriptors received.
        descriptors: usize,
        /// Bytes received.
        bytes: usize,
    },
    /// Descriptors came where none are passed.
    #[error("{0} file descriptors came where none are expected")]
    UnexpectedDescriptors(usize),
    /// A passed descriptor refers to a file that is not in memory: access to it would wait for the
    /// provider of its pages.
    #[error("the {0} region is neither a memfd nor another file that lives in memory")]
    NotInMemory(&'static str),
    /// A region is neither a regular file nor a memfd.
    #[error("the {0} region is not a regular file")]
    NotAFile(&'static str),
    /// A region is too small or larger than allowed.
    #[error("the {region} region has {size} bytes; {allowed}")]
    RegionSize {
        /// The region.
        region: &'static str,
        /// Size of the region.
        size: u64,
        /// Allowed sizes, and the option that changes them.
        allowed: &'static str,
    },
    /// A region is not sealed, and the options require it.
    #[error("the {0} region is not sealed against shrinking, which require_sealed demands")]
    NotSealed(&'static str),
    /// A ring's capacity is 0 or does not fit into its half of the region.
    #[error("a queue declares {declared} elements, its half of the region holds {fit}")]
    QueueCapacity {
        /// Capacity in its header.
        declared: u32,
        /// Maximum capacity.
        fit: u32,
    },
    /// The counts of a ring are further apart than it has elements.
    #[error("a queue of {capacity} elements claims to hold {distance}")]
    QueueDistance {
        /// Distance of the counts.
        distance: u32,
        /// Elements of the ring.
        capacity: u32,
    },
    /// The buffer region has no list of slices, or too many.
    #[error("the buffer region declares {0} lists of slices; 1 to 64 are possible")]
    ListCount(u16),
    /// A list does not fit into the buffer region.
    #[error("list {0} of the buffer region reaches behind its end")]
    ListBounds(usize),
    /// A list's slices have an impossible capacity.
    #[error(
        "list {list} of the buffer region has slices of {capacity} bytes; any size that no other \
         list has is possible"
    )]
    SliceCapacity {
        /// Index of the list.
        list: usize,
        /// The capacity.
        capacity: u32,
    },
    /// A list's counters cannot be accessed in place.
    #[error(
        "list {list} of the buffer region starts at {header}, where its counters are not aligned \
         or cross a cache line, which a locked access must not; make slice sizes multiples of 4"
    )]
    ListAlignment {
        /// Index of the list.
        list: usize,
        /// Offset of its header.
        header: u32,
    },
    /// An offset that is not the start of a slice.
    #[error("offset {0} is not the start of a slice")]
    NoSlice(u32),
    /// A slice's header has a different capacity than its list.
    #[error("the slice at {offset} declares a capacity of {declared}, its list has {capacity}")]
    SliceHeader {
        /// Offset of its header.
        offset: u32,
        /// Capacity in its header.
        declared: u32,
        /// Capacity in its list.
        capacity: u32,
    },
    /// A slice with more bytes than it has room for.
    #[error("the slice at {offset} declares {size} bytes from {start}, its capacity is {capacity}")]
    SliceSize {
        /// Offset of its header.
        offset: u32,
        /// First byte.
        start: u32,
        /// Bytes.
        size: u32,
        /// Room.
        capacity: u32,
    },
    /// A slice was received in a message, or from a free list, that this side already holds: a
    /// chain in a circle, a slice sent twice, or a free list that was tampered with.
    #[error("the slice at {0} is already held by this side")]
    SliceHeld(u32),
    /// A region lost its pages: truncated by the peer, or the file system behind it is full.
    #[error("the {0} region lost its memory: the peer truncated it, or its file system is full")]
    Truncated(&'static str),
}
