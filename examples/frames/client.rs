//! Sends tensors of 8 MiB, with their shapes, without copying them: they are made in the memory
//! that the peer reads. That memory is ready before the first tensor, which would else wait for it.
#![forbid(unsafe_code)]

use std::io;

use breezeway::{ExclusiveSession, SessionOptions};

const PUSH: u32 = 0;
const COUNT: u32 = 1;
/// The number of dimensions, up to seven sizes, and then values of four bytes.
const HEADER: usize = 64;
const SHAPE: [u64; 3] = [2, 1024, 1024];
const TENSOR: usize = HEADER + 4 * 2 * 1024 * 1024;
/// One tensor is made while the server reads another one.
const READY: u64 = 2 * TENSOR as u64;

fn main() -> Result<(), breezeway::Report> {
    let address = std::env::args().nth(1).unwrap_or("shm:/tmp/frames.sock".to_owned());
    let mut session =
        ExclusiveSession::connect_with(address, &SessionOptions::new().prefault(READY))?;
    for step in 1..=5u8 {
        let mut tensor = session.reserve(TENSOR)?;
        let (header, values) = tensor.bytes_mut().split_at_mut(HEADER);
        for (field, size) in header.as_chunks_mut().0.iter_mut().zip([3].iter().chain(&SHAPE)) {
            *field = size.to_le_bytes();
        }
        values.as_chunks_mut().0.fill(f32::from(step).to_le_bytes());
        tensor.post(PUSH)?;
    }
    // The server takes messages in their order: it has read the tensors when it replies.
    let count = session.call(COUNT, b"")?.bytes().u64_le_at(0);
    println!(
        "the server has read {} tensors",
        count.ok_or_else(|| io::Error::other("a count has eight bytes"))?
    );
    Ok(())
}
