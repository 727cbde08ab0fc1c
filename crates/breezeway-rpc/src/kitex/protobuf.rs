//! Refusal of Kitex's Protobuf, by an exception that its clients can read.

use crate::error::Error;
use crate::thrift::{ExceptionKind, Output, TtHeader};

const WORDS: &str = "Protobuf in Kitex's framing is not served here: call in Thrift";

/// Returns an exception of Kitex's Protobuf: length, magic and type, method, number, and `message
/// ErrorProto { int32 TypeID = 1; string Message = 2; }`. Its clients do not compare an exception's
/// number, nor its method, which must have a name; a TTHeader's number they do compare.
pub(super) fn refusal(header: Option<i32>) -> Result<Vec<u8>, Error> {
    let mut message = b"\x90\x01\0\x03\0\0\0\x07refused\0\0\0\0".to_vec();
    let kind = ExceptionKind::INVALID_PROTOCOL.0 as u8;
    message.extend_from_slice(&[0x08, kind, 0x12, WORDS.len() as u8]);
    message.extend_from_slice(WORDS.as_bytes());
    let mut payload = (message.len() as u32).to_be_bytes().to_vec();
    payload.extend_from_slice(&message);
    let Some(sequence) = header else { return Ok(payload) };
    let header = TtHeader { sequence, ..TtHeader::default() };
    let mut bytes = vec![0; header.size()];
    let mut output = Output::new(&mut bytes);
    header.encode(payload.len(), &mut output);
    output.finish()?;
    bytes.extend_from_slice(&payload);
    Ok(bytes)
}
