//! Requests whose `:authority` is not one.
//!
//! A client at a socket file has no host to name. Google's libraries send the path of the file, in
//! percent-encoding, others send nothing, and h2 resets such a request. The first request of a
//! connection is therefore read here. If its `:authority` is valid, the connection is passed
//! through from there on. Otherwise all its header blocks are re-encoded without HPACK's table,
//! with `localhost` in place of an invalid authority.

use http::uri::Authority;

use super::frame::{self, Head};
use super::hpack::{Decoder, Field, encode};
use super::settings::HEADER_LIST;

const PREFACE: usize = 24;
const NAME: &[u8] = b":authority";
const SUBSTITUTE: &[u8] = b"localhost";
/// Maximum size of the frames of one header block.
const LONGEST_BLOCK: usize = 2 * HEADER_LIST as usize;
/// Largest frame that every receiver accepts.
const FRAGMENT: usize = 16 << 10;
/// A block that every decoder rejects: it refers to index 0.
const NOT_A_BLOCK: &[u8] = &[0x80];

/// The bytes of one client on their way to h2.
pub(crate) struct Rewriter {
    /// Bytes not examined yet: the beginning of a frame.
    input: Vec<u8>,
    output: Vec<u8>,
    /// Bytes of the output that were taken.
    taken: usize,
    /// Bytes that are passed on unchanged.
    skip: usize,
    mode: Mode,
    decoder: Decoder,
    block: Option<Block>,
}

enum Mode {
    /// No request has arrived.
    Undecided,
    /// Header blocks are re-encoded.
    Rewriting,
    /// All bytes are passed on unchanged.
    Through,
}

/// A header block before its end has arrived.
struct Block {
    stream: u32,
    ends_stream: bool,
    /// Frames of the block, unchanged.
    raw: Vec<u8>,
    fragments: Vec<u8>,
}

impl Rewriter {
    pub(crate) fn new() -> Self {
        Self {
            input: Vec::new(),
            output: Vec::new(),
            taken: 0,
            skip: PREFACE,
            mode: Mode::Undecided,
            decoder: Decoder::new(HEADER_LIST as usize),
            block: None,
        }
    }

    /// Returns true if bytes need no longer be given to this, once its output is taken.
    pub(crate) fn is_through(&self) -> bool {
        matches!(self.mode, Mode::Through)
    }

    /// Takes bytes that the client has sent, once all output is taken.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.output.clear();
        self.taken = 0;
        self.input.extend_from_slice(bytes);
        let mut input = std::mem::take(&mut self.input);
        let mut rest = &input[..];
        while !rest.is_empty() && self.step(&mut rest) {}
        let handled = input.len() - rest.len();
        input.drain(..handled);
        self.input = input;
    }

    /// Returns the next bytes for h2, at most `most`.
    pub(crate) fn pull(&mut self, most: usize) -> &[u8] {
        let start = self.taken;
        self.taken = self.output.len().min(start + most);
        &self.output[start..self.taken]
    }

    /// Handles the next frame, or a part of it. Returns false if more of it must arrive first.
    fn step(&mut self, rest: &mut &[u8]) -> bool {
        if self.is_through() {
            self.skip = rest.len();
        }
        if self.skip > 0 {
            let (passed, more) = rest.split_at(self.skip.min(rest.len()));
            self.output.extend_from_slice(passed);
            self.skip -= passed.len();
            *rest = more;
            return true;
        }
        let Some(head) = Head::read(rest) else { return false };
        if !head.has_block() {
            self.pass(head.frame_len());
            return true;
        }
        if head.len > LONGEST_BLOCK {
            self.give_up();
            return true;
        }
        let Some((whole, more)) = rest.split_at_checked(head.frame_len()) else { return false };
        *rest = more;
        self.headers(head, whole);
        true
    }

    /// Passes a frame without a header block on; within one it breaks the protocol.
    fn pass(&mut self, len: usize) {
        match self.block {
            Some(_) => self.give_up(),
            None => self.skip = len,
        }
    }

    fn headers(&mut self, head: Head, whole: &[u8]) {
        let fragment = head.fragment(&whole[Head::LEN..]);
        let block = match (&mut self.block, head.kind) {
            (None, frame::HEADERS) => self.block.insert(Block {
                stream: head.stream,
                ends_stream: head.flags & frame::END_STREAM != 0,
                raw: Vec::new(),
                fragments: Vec::new(),
            }),
            (Some(block), frame::CONTINUATION) if block.stream == head.stream => block,
            _ => {
                self.output_raw(whole);
                return self.give_up();
            }
        };
        block.raw.extend_from_slice(whole);
        let Some(fragment) = fragment else { return self.give_up() };
        block.fragments.extend_from_slice(fragment);
        if block.raw.len() > LONGEST_BLOCK {
            return self.give_up();
        }
        if head.flags & frame::END_HEADERS != 0
            && let Some(block) = self.block.take()
        {
            self.end_block(block);
        }
    }

    fn end_block(&mut self, block: Block) {
        let Some(mut fields) = self.decoder.decode(&block.fragments) else {
            self.block = Some(block);
            return self.give_up();
        };
        let is_rewritten = replace_authority(&mut fields);
        match self.mode {
            Mode::Undecided if !is_rewritten => {
                self.output.extend_from_slice(&block.raw);
                self.mode = Mode::Through;
            }
            _ => {
                self.mode = Mode::Rewriting;
                self.write(&block, &fields);
            }
        }
    }

    fn write(&mut self, block: &Block, fields: &[Field]) {
        let encoded = encode(fields);
        let count = encoded.len().div_ceil(FRAGMENT).max(1);
        for index in 0..count {
            let fragment = &encoded[index * FRAGMENT..encoded.len().min((index + 1) * FRAGMENT)];
            let kind = if index == 0 { frame::HEADERS } else { frame::CONTINUATION };
            let mut flags = 0;
            if index == 0 && block.ends_stream {
                flags |= frame::END_STREAM;
            }
            if index + 1 == count {
                flags |= frame::END_HEADERS;
            }
            let head = Head { len: fragment.len(), kind, flags, stream: block.stream };
            head.write(&mut self.output);
            self.output.extend_from_slice(fragment);
        }
    }

    /// Leaves a connection that breaks the protocol to h2, which ends it with the reason.
    fn give_up(&mut self) {
        let block = self.block.take();
        match (&self.mode, block) {
            (Mode::Rewriting, block) => {
                let stream = block.map_or(1, |block| block.stream);
                let (kind, flags) = (frame::HEADERS, frame::END_HEADERS);
                let head = Head { len: NOT_A_BLOCK.len(), kind, flags, stream };
                head.write(&mut self.output);
                self.output.extend_from_slice(NOT_A_BLOCK);
            }
            (_, Some(block)) => self.output.extend_from_slice(&block.raw),
            (_, None) => {}
        }
        self.mode = Mode::Through;
    }

    /// Adds the frame that breaks the protocol to the output for h2.
    fn output_raw(&mut self, whole: &[u8]) {
        match &mut self.block {
            Some(block) => block.raw.extend_from_slice(whole),
            None => self.output.extend_from_slice(whole),
        }
    }
}

/// Replaces an authority that h2 would refuse; returns true if there was one.
fn replace_authority(fields: &mut [Field]) -> bool {
    let invalid =
        |(name, value): &&mut Field| name == NAME && Authority::try_from(value.as_slice()).is_err();
    match fields.iter_mut().find(invalid) {
        Some((_, value)) => {
            *value = SUBSTITUTE.to_vec();
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        Head { len: payload.len(), kind, flags, stream: 1 }.write(&mut bytes);
        bytes.extend_from_slice(payload);
        bytes
    }

    fn headers(fields: &[(&str, &str)]) -> Vec<u8> {
        let fields =
            fields.iter().map(|(name, value)| (name.as_bytes().into(), value.as_bytes().into()));
        let block = encode(&fields.collect::<Vec<Field>>());
        frame(frame::HEADERS, frame::END_HEADERS, &block)
    }

    fn rewritten(pieces: impl Iterator<Item = impl AsRef<[u8]>>) -> Vec<u8> {
        let (mut rewriter, mut output) = (Rewriter::new(), Vec::new());
        for piece in pieces {
            rewriter.push(piece.as_ref());
            loop {
                let pulled = rewriter.pull(3);
                if pulled.is_empty() {
                    break;
                }
                output.extend_from_slice(pulled);
            }
        }
        output
    }

    #[test]
    fn pieces_of_any_size_are_rewritten_alike() {
        let preface = [b'x'; PREFACE];
        let data = frame(0, 0, &[7; 300]);
        let request = |authority| headers(&[(":path", "/"), (":authority", authority)]);
        let input = [&preface[..], &request("%2Fa"), &data, &request(""), &request("a:80")];
        let expected = [&preface[..], &request("localhost"), &data, &request("localhost")];
        let expected = [&expected.concat()[..], &request("a:80")].concat();
        let input = input.concat();
        for size in [1, 2, 7, 24, 33, 34, 100, input.len()] {
            assert_eq!(rewritten(input.chunks(size)), expected, "{size}");
        }
    }

    #[test]
    fn valid_first_request_passes_all_bytes_through() {
        let input = [
            vec![b'x'; PREFACE],
            headers(&[(":authority", "localhost")]),
            headers(&[(":authority", "%2F")]),
            vec![0xff; 1000],
        ];
        let input = input.concat();
        assert_eq!(rewritten(input.chunks(11)), input);
    }

    #[test]
    fn connection_that_breaks_the_protocol_is_left_to_h2() {
        let start = [vec![b'x'; PREFACE], headers(&[(":authority", "%2F")])].concat();
        let bad = frame(frame::HEADERS, frame::END_HEADERS, NOT_A_BLOCK);
        let open = frame(frame::HEADERS, 0, &[0x83]);
        let broken = [
            frame(frame::HEADERS, frame::END_HEADERS, &[0xff]),
            [&open[..], &frame(0, 0, b"data")].concat(),
            [&open[..], &open].concat(),
            frame(frame::HEADERS, 0x8 | frame::END_HEADERS, &[9, 0]),
            [&open[..], &frame(frame::CONTINUATION, 0, &[]).repeat(20_000)].concat(),
        ];
        for broken in broken {
            let output = rewritten([&start[..], &broken].into_iter());
            assert!(output.windows(bad.len()).any(|bytes| bytes == bad), "{broken:02x?}");
            let output = rewritten([&start[..PREFACE], &broken].into_iter());
            assert_eq!(output, [&start[..PREFACE], &broken].concat(), "before a request is seen");
        }
    }

    #[test]
    fn any_bytes_are_rewritten_without_a_panic() {
        let mut state = 1_u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..2_000 {
            let mut input = vec![vec![b'x'; PREFACE], headers(&[(":authority", "%2F")])];
            for _ in 0..random(8) {
                let payload: Vec<_> = (0..random(40)).map(|_| random(256) as u8).collect();
                input.push(frame([0, 1, 1, 9][random(4) as usize], random(64) as u8, &payload));
            }
            let size = 1 + random(60) as usize;
            rewritten(input.concat().chunks(size));
        }
    }
}
