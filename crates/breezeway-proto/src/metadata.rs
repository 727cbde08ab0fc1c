//! The metadata block in front of a message: a length of two bytes, the block, the message.

use thiserror::Error;

/// Number of bytes in front of the block, which hold its length.
pub const METADATA_PREFIX: usize = 2;

/// Error of a received metadata block.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetadataError {
    /// The body is too short to hold the block's length.
    #[error("a body of {0} bytes has no room for the length of its metadata")]
    NoLength(usize),
    /// The block reaches behind the body's end.
    #[error("metadata of {metadata} bytes in a body of {body}")]
    BehindTheEnd {
        /// The block's length.
        metadata: usize,
        /// The body's length.
        body: usize,
    },
    /// A block was sent to a side that takes none.
    #[error("metadata, of which this side takes none (option max_metadata)")]
    NotTaken,
    /// The block is longer than this side takes.
    #[error("metadata of {len} bytes; this side takes {limit} (option max_metadata)")]
    TooLong {
        /// The block's length.
        len: usize,
        /// The limit.
        limit: usize,
    },
}

/// Returns the length of the metadata block in a body of `body` bytes whose first two are `prefix`.
/// The message follows prefix and block. `limit` is the longest block that this side takes.
pub fn split(
    body: usize,
    prefix: Option<[u8; METADATA_PREFIX]>,
    limit: usize,
) -> Result<usize, MetadataError> {
    if limit == 0 {
        return Err(MetadataError::NotTaken);
    }
    let prefix = prefix.filter(|_| body >= METADATA_PREFIX);
    let len = usize::from(u16::from_le_bytes(prefix.ok_or(MetadataError::NoLength(body))?));
    if len > body - METADATA_PREFIX {
        return Err(MetadataError::BehindTheEnd { metadata: len, body });
    }
    if len > limit {
        return Err(MetadataError::TooLong { len, limit });
    }
    Ok(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_follows_the_metadata_block() {
        assert_eq!(split(10, Some([3, 0]), 8), Ok(3));
        assert_eq!(split(2, Some([0, 0]), 8), Ok(0));
        assert_eq!(split(5, Some([3, 0]), 3), Ok(3));
    }

    #[test]
    fn a_block_that_is_cut_or_too_long_is_refused() {
        assert_eq!(split(0, None, 8), Err(MetadataError::NoLength(0)));
        assert_eq!(split(1, None, 8), Err(MetadataError::NoLength(1)));
        let behind = MetadataError::BehindTheEnd { metadata: 4, body: 5 };
        assert_eq!(split(5, Some([4, 0]), 8), Err(behind));
        let behind = MetadataError::BehindTheEnd { metadata: 65_535, body: 100 };
        assert_eq!(split(100, Some([255, 255]), 8), Err(behind));
        assert_eq!(split(100, Some([9, 0]), 8), Err(MetadataError::TooLong { len: 9, limit: 8 }));
    }
}
