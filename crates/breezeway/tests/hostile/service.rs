//! The handler of the honest server.

use std::convert::Infallible;
use std::io::Read;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

use breezeway::{Call, ForeignBytes, Handler, HandlerError, Replied, Stream};

/// Replies with the request.
pub(crate) const ECHO: u32 = 0;
/// Reads the request in every way there is and replies with how many copies were torn.
pub(crate) const INSPECT: u32 = 1;
/// Replies with as many bytes as the request's `u64`.
pub(crate) const REPLY_OF: u32 = 2;

/// The method of streams that are echoed; others are not read until the session is over.
pub(crate) const ECHO_STREAM: u32 = 0;

/// Serves a stream.
pub(crate) fn on_stream(method: u32, mut stream: Stream) -> Result<(), HandlerError> {
    if method == ECHO_STREAM {
        while let Some(message) = stream.receive()? {
            stream.send(&message.to_vec())?;
        }
        return Ok(stream.finish()?);
    }
    // Nothing is read: only the end of the stream, or of the session, ends this.
    let mut cx = Context::from_waker(Waker::noop());
    while stream.sender().poll_reset(&mut cx).is_pending() {
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// The two bytes that an attacker fills an inspected payload with, and nothing else in reach of it
/// has.
pub(crate) const INSIDE: [u8; 2] = [0x55, 0xaa];

/// The handler, which remembers the thread that serves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Service(Arc<OnceLock<ThreadId>>);

impl Service {
    /// The worker's thread, once a call was served.
    pub(crate) fn thread(&self) -> ThreadId {
        *self.0.get().expect("a call was served")
    }
}

impl Handler for Service {
    fn handle(&self, call: Call<'_>) -> Result<Replied, HandlerError> {
        self.0.get_or_init(|| thread::current().id());
        if call.is_one_way() {
            inspect(call.request());
            return call.done();
        }
        match call.method() {
            ECHO => {
                let len = call.request().len();
                let mut space = call.reserve(len)?;
                space.write_request(0);
                space.commit()
            }
            INSPECT => {
                let torn = inspect_inside(call.request());
                call.reply(torn.to_le_bytes())
            }
            REPLY_OF => {
                let len = call.request().u64_le_at(0).ok_or("a length is missing")? as usize;
                let mut space = call.reserve(len)?;
                space.bytes_mut().fill(INSIDE[0]);
                space.commit()
            }
            other => Err(format!("no method {other}").into()),
        }
    }
}

/// Reads a body in every way there is. The copies may be torn, but have the right length, and a
/// read past the end gives nothing.
pub(crate) fn inspect(body: ForeignBytes<'_>) -> Vec<Vec<u8>> {
    let len = body.len();
    let mut copies = vec![body.to_vec()];
    let mut appended = b"before".to_vec();
    body.append_to(&mut appended);
    assert_eq!(appended[..6], *b"before");
    copies.push(appended.split_off(6));
    let mut copied = vec![0; len];
    body.copy_to(&mut copied);
    copies.push(copied);
    let mut read = Vec::new();
    body.reader().read_to_end(&mut read).expect("reading memory does not fail");
    copies.push(read);
    let mut chunks = Vec::new();
    let Ok(()) = body.try_for_each_chunk(|chunk| {
        chunks.extend_from_slice(chunk);
        Ok::<(), Infallible>(())
    });
    copies.push(chunks);
    let mut lines = Vec::new();
    let Ok(()) = body.try_for_each_line(|line| {
        lines.extend_from_slice(line);
        Ok::<(), Infallible>(())
    });
    copies.push(lines);
    copies.push((0..len).flat_map(|at| body.array_at::<1>(at).expect("inside")).collect());
    let halves = [body.slice(..len / 2), body.slice(len / 2..)];
    copies.push(halves.iter().flat_map(ForeignBytes::to_vec).collect());
    for copy in &copies {
        assert_eq!(copy.len(), len);
    }
    for outside in [len, len.saturating_add(1), usize::MAX - 7, usize::MAX] {
        assert_eq!(body.array_at::<1>(outside), None);
        assert_eq!(body.u32_le_at(outside), None);
        assert_eq!(body.u64_le_at(outside), None);
    }
    if len >= 8 {
        assert!(body.u64_le_at(len - 8).is_some() && body.u64_le_at(len - 7).is_none());
        assert!(body.u32_le_at(len - 4).is_some() && body.u32_le_at(len - 3).is_none());
    }
    copies
}

/// Inspects a payload that an attacker rewrites: every byte is one of its two, so none came from
/// outside. Gives how many copies hold both.
pub(crate) fn inspect_inside(body: ForeignBytes<'_>) -> u64 {
    assert!(body.as_slice().is_none(), "a slice of memory that changes");
    let mut torn = 0;
    for _ in 0..8 {
        for copy in inspect(body) {
            assert!(copy.iter().all(|byte| INSIDE.contains(byte)), "a byte from outside");
            torn += u64::from(copy.iter().any(|&byte| byte != copy[0]));
        }
    }
    torn
}
