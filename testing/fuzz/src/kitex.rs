//! Bytes of Thrift's framings, in pieces: to a server with two services, or to a client.

use std::sync::LazyLock;

use breezeway_rpc::fuzzing::{Dispatch, thrift_replies};

use crate::services::{RoomSayArgs, dispatch};

/// Runs one input: the side, how long the pieces are, and the bytes.
pub fn run(data: &[u8]) {
    static SERVICES: LazyLock<Dispatch> = LazyLock::new(dispatch);
    let Some((&[side, piece], bytes)) = data.split_first_chunk() else { return };
    let piece = if piece == 0 { bytes.len().max(1) } else { usize::from(piece) };
    let pieces: Vec<_> = bytes.chunks(piece).collect();
    match side % 2 {
        0 => drop(SERVICES.thrift(&pieces)),
        _ => thrift_replies::<RoomSayArgs>(&pieces),
    }
}
