//! Headers and trailers as metadata blocks (`docs/grpc-reference.md`, "The native gear").

use http::header::{CONTENT_TYPE, TE};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Uri, Version};

/// Size of the longest block that the sessions of this crate accept.
pub(crate) const LONGEST: usize = u16::MAX as usize;

const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");
const TRAILERS: HeaderValue = HeaderValue::from_static("trailers");

/// Flag of an omitted `content-type: application/grpc`.
const IS_GRPC: u8 = 1;
/// Flag of an omitted `te: trailers`.
const TAKES_TRAILERS: u8 = 2;
/// Flag of a complete response: the length of the headers comes first, and trailers follow them.
const HAS_TRAILERS: u8 = 4;

/// Fault of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BlockError {
    #[error("a metadata block breaks off")]
    Short,
    #[error("a metadata block has flags that this version does not know: {0:#04x}")]
    Flags(u8),
    #[error("a metadata block has no valid path")]
    Path,
    #[error("a metadata block has no valid status")]
    Status,
    #[error("a metadata block has a header that is none")]
    Header,
}

/// Error for headers and trailers that are too long for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the metadata takes {0} bytes, where {LONGEST} are the most")]
pub(crate) struct TooLong(usize);

/// Returns the first block of a request: flags, length of the path, path, headers.
pub(crate) fn request(head: &http::request::Parts) -> Result<Vec<u8>, TooLong> {
    let path = head.uri.path_and_query().map_or("/", PathAndQuery::as_str);
    let mut block = Vec::with_capacity(128);
    let flags = left_out(&head.headers);
    block.push(flags);
    put_len(&mut block, path.len())?;
    block.extend_from_slice(path.as_bytes());
    put_fields(&mut block, &head.headers, flags)?;
    check(block)
}

/// Returns the first block of a response: flags, status, and headers; also the trailers if there
/// are some.
pub(crate) fn response(
    status: StatusCode,
    headers: &HeaderMap,
    trailers: Option<&HeaderMap>,
) -> Result<Vec<u8>, TooLong> {
    let mut block = Vec::with_capacity(64);
    let flags = left_out(headers) | if trailers.is_some() { HAS_TRAILERS } else { 0 };
    block.push(flags);
    block.extend_from_slice(&status.as_u16().to_le_bytes());
    let Some(trailers) = trailers else {
        put_fields(&mut block, headers, flags)?;
        return check(block);
    };
    let len_at = block.len();
    block.extend_from_slice(&[0; 2]);
    put_fields(&mut block, headers, flags)?;
    let len = u16::try_from(block.len() - len_at - 2).map_err(|_| TooLong(block.len()))?;
    block[len_at..len_at + 2].copy_from_slice(&len.to_le_bytes());
    put_fields(&mut block, trailers, 0)?;
    check(block)
}

/// Returns the last block of a response that has begun: fields only.
pub(crate) fn trailers(trailers: &HeaderMap) -> Result<Vec<u8>, TooLong> {
    let mut block = Vec::with_capacity(32);
    put_fields(&mut block, trailers, 0)?;
    check(block)
}

/// Reads the result of [`request`].
pub(crate) fn read_request(block: &[u8]) -> Result<Request<()>, BlockError> {
    let mut rest = block;
    let flags = byte(&mut rest)?;
    let path = take_prefixed(&mut rest)?;
    if !is_path(path) {
        return Err(BlockError::Path);
    }
    let path = PathAndQuery::try_from(path).map_err(|_| BlockError::Path)?;
    let mut request = Request::new(());
    *request.uri_mut() = Uri::from(path);
    *request.version_mut() = Version::HTTP_2;
    put_back(request.headers_mut(), flags, IS_GRPC | TAKES_TRAILERS)?;
    read_fields(rest, request.headers_mut())?;
    Ok(request)
}

/// Returns true for `/` and visible ASCII characters without `#`, `?`, `<`, `>` and the backtick.
fn is_path(path: &[u8]) -> bool {
    let is_valid = |byte: &u8| byte.is_ascii_graphic() && !b"#?<>`".contains(byte);
    path.starts_with(b"/") && path.iter().all(is_valid)
}

/// Reads the result of [`response`].
pub(crate) fn read_response(block: &[u8]) -> Result<(Response<()>, Option<HeaderMap>), BlockError> {
    let mut rest = block;
    let flags = byte(&mut rest)?;
    let status = take(&mut rest, 2)?;
    let status = u16::from_le_bytes([status[0], status[1]]);
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::from_u16(status).map_err(|_| BlockError::Status)?;
    *response.version_mut() = Version::HTTP_2;
    put_back(response.headers_mut(), flags, IS_GRPC | TAKES_TRAILERS | HAS_TRAILERS)?;
    if flags & HAS_TRAILERS == 0 {
        read_fields(rest, response.headers_mut())?;
        return Ok((response, None));
    }
    let headers = take_prefixed(&mut rest)?;
    read_fields(headers, response.headers_mut())?;
    Ok((response, Some(read_trailers(rest)?)))
}

/// Reads the result of [`trailers`].
pub(crate) fn read_trailers(block: &[u8]) -> Result<HeaderMap, BlockError> {
    let mut trailers = HeaderMap::new();
    read_fields(block, &mut trailers)?;
    Ok(trailers)
}

fn check(block: Vec<u8>) -> Result<Vec<u8>, TooLong> {
    if block.len() <= LONGEST { Ok(block) } else { Err(TooLong(block.len())) }
}

/// Returns the flags of the omitted headers.
fn left_out(headers: &HeaderMap) -> u8 {
    let is_grpc = is_only(headers, &CONTENT_TYPE, &GRPC);
    let takes_trailers = is_only(headers, &TE, &TRAILERS);
    let is_grpc = if is_grpc { IS_GRPC } else { 0 };
    is_grpc | if takes_trailers { TAKES_TRAILERS } else { 0 }
}

/// Returns true if a name has this value and no other.
fn is_only(headers: &HeaderMap, name: &HeaderName, usual: &HeaderValue) -> bool {
    let mut values = headers.get_all(name).iter();
    values.next() == Some(usual) && values.next().is_none()
}

fn put_back(headers: &mut HeaderMap, flags: u8, known: u8) -> Result<(), BlockError> {
    if flags & !known != 0 {
        return Err(BlockError::Flags(flags));
    }
    if flags & IS_GRPC != 0 {
        headers.insert(CONTENT_TYPE, GRPC);
    }
    if flags & TAKES_TRAILERS != 0 {
        headers.insert(TE, TRAILERS);
    }
    Ok(())
}

/// Appends each field that the flags do not cover: length of the name, length of the value, name,
/// value.
fn put_fields(block: &mut Vec<u8>, fields: &HeaderMap, flags: u8) -> Result<(), TooLong> {
    for (name, value) in fields {
        let is_said = (flags & IS_GRPC != 0 && name == CONTENT_TYPE)
            || (flags & TAKES_TRAILERS != 0 && name == TE);
        if is_said {
            continue;
        }
        put_len(block, name.as_str().len())?;
        put_len(block, value.len())?;
        block.extend_from_slice(name.as_str().as_bytes());
        block.extend_from_slice(value.as_bytes());
    }
    Ok(())
}

fn put_len(block: &mut Vec<u8>, len: usize) -> Result<(), TooLong> {
    let len = u16::try_from(len).map_err(|_| TooLong(len))?;
    block.extend_from_slice(&len.to_le_bytes());
    Ok(())
}

fn read_fields(mut rest: &[u8], fields: &mut HeaderMap) -> Result<(), BlockError> {
    while !rest.is_empty() {
        let lens = take(&mut rest, 4)?;
        let name = take(&mut rest, u16::from_le_bytes([lens[0], lens[1]]).into())?;
        let value = take(&mut rest, u16::from_le_bytes([lens[2], lens[3]]).into())?;
        let value = header_value(value)?;
        fields.try_append(header_name(name)?, value).map_err(|_| BlockError::Header)?;
    }
    Ok(())
}

/// Returns a header name, without an allocation for names that every call has.
fn header_name(name: &[u8]) -> Result<HeaderName, BlockError> {
    const STATUS: HeaderName = HeaderName::from_static("grpc-status");
    const TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
    match name {
        b"grpc-status" => Ok(STATUS),
        b"grpc-timeout" => Ok(TIMEOUT),
        name => HeaderName::from_bytes(name).map_err(|_| BlockError::Header),
    }
}

fn header_value(value: &[u8]) -> Result<HeaderValue, BlockError> {
    match value {
        b"0" => Ok(HeaderValue::from_static("0")),
        value => HeaderValue::from_bytes(value).map_err(|_| BlockError::Header),
    }
}

fn byte(rest: &mut &[u8]) -> Result<u8, BlockError> {
    Ok(take(rest, 1)?[0])
}

fn take_prefixed<'b>(rest: &mut &'b [u8]) -> Result<&'b [u8], BlockError> {
    let len = take(rest, 2)?;
    take(rest, u16::from_le_bytes([len[0], len[1]]).into())
}

fn take<'b>(rest: &mut &'b [u8], len: usize) -> Result<&'b [u8], BlockError> {
    rest.split_off(..len).ok_or(BlockError::Short)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    fn request_with(path: &str, fields: &[(&'static str, &'static str)]) -> http::request::Parts {
        let mut request = Request::new(());
        *request.uri_mut() = path.parse().unwrap();
        *request.headers_mut() = headers(fields);
        request.into_parts().0
    }

    #[test]
    fn request_round_trips_and_common_fields_are_omitted() {
        let common = [("te", "trailers"), ("content-type", "application/grpc")];
        let plain = request(&request_with("/a.B/c", &common)).unwrap();
        assert_eq!(plain.len(), 1 + 2 + "/a.B/c".len());
        let fields = [
            ("te", "trailers"),
            ("content-type", "application/grpc"),
            ("key", "1"),
            ("key", "2"),
            ("data-bin", "AAEC"),
        ];
        let read = read_request(&request(&request_with("/a.B/c", &fields)).unwrap()).unwrap();
        assert_eq!(read.uri(), "/a.B/c");
        assert_eq!(*read.headers(), headers(&fields));
    }

    #[test]
    fn other_content_types_travel_as_they_are() {
        let fields = [("content-type", "application/grpc+json"), ("te", "gzip")];
        let read = read_request(&request(&request_with("/a", &fields)).unwrap()).unwrap();
        assert_eq!(*read.headers(), headers(&fields));
    }

    #[test]
    fn repeated_common_fields_and_trailers_round_trip() {
        let fields = [
            ("te", "gzip"),
            ("te", "trailers"),
            ("content-type", "application/grpc"),
            ("content-type", "application/grpc"),
        ];
        let read = read_request(&request(&request_with("/a", &fields)).unwrap()).unwrap();
        assert_eq!(*read.headers(), headers(&fields));
        let tail = headers(&fields);
        assert_eq!(read_trailers(&trailers(&tail).unwrap()).unwrap(), tail);
        let block = response(StatusCode::OK, &headers(&fields[2..3]), Some(&tail)).unwrap();
        assert_eq!(read_response(&block).unwrap().1, Some(tail));
    }

    #[test]
    fn a_response_reads_back_with_and_without_trailers() {
        let head = headers(&[("content-type", "application/grpc"), ("a", "b")]);
        let tail = headers(&[("grpc-status", "0"), ("c", "d")]);
        for trailers in [None, Some(&tail)] {
            let block = response(StatusCode::OK, &head, trailers).unwrap();
            let (read, found) = read_response(&block).unwrap();
            assert_eq!((read.status(), read.headers()), (StatusCode::OK, &head));
            assert_eq!(found.as_ref(), trailers);
        }
        assert_eq!(read_trailers(&trailers(&tail).unwrap()).unwrap(), tail);
    }

    #[test]
    fn truncated_block_is_refused() {
        let fields = [("key", "value")];
        let whole = request(&request_with("/a.B/c", &fields)).unwrap();
        let without_fields = 1 + 2 + "/a.B/c".len();
        for len in (0..whole.len()).filter(|&len| len != without_fields) {
            let outcome = read_request(&whole[..len]);
            assert!(outcome.is_err(), "{len} bytes");
        }
        let tail = headers(&[("grpc-status", "5")]);
        let whole = response(StatusCode::OK, &headers(&fields), Some(&tail)).unwrap();
        let without_trailers = whole.len() - trailers(&tail).unwrap().len();
        for len in (0..whole.len()).filter(|&len| len != without_trailers) {
            assert!(read_response(&whole[..len]).is_err(), "{len} bytes");
        }
    }

    #[test]
    fn invalid_flags_path_status_and_header_are_refused() {
        assert_eq!(read_request(&[8, 1, 0, b'/']).unwrap_err(), BlockError::Flags(8));
        assert_eq!(read_request(&[0, 1, 0, b'\n']).unwrap_err(), BlockError::Path);
        assert_eq!(read_request(&[0, 0, 0]).unwrap_err(), BlockError::Path);
        assert_eq!(read_request(&[0, 1, 0, b'#']).unwrap_err(), BlockError::Path);
        assert_eq!(read_response(&[0, 7, 0]).unwrap_err(), BlockError::Status);
        let field = [1, 0, 1, 0, b'a', b'\n'];
        assert_eq!(read_trailers(&field).unwrap_err(), BlockError::Header);
        let nameless = [0, 0, 1, 0, b'a'];
        assert_eq!(read_trailers(&nameless).unwrap_err(), BlockError::Header);
    }

    #[test]
    fn metadata_that_is_too_long_is_refused() {
        let long = "x".repeat(LONGEST);
        let mut parts = request_with("/a", &[]);
        parts.headers.insert("key", long.parse().unwrap());
        assert!(request(&parts).is_err());
        let mut tail = HeaderMap::new();
        tail.insert("key", "x".repeat(LONGEST - 7).parse().unwrap());
        assert_eq!(trailers(&tail).map(|block| block.len()), Ok(LONGEST));
        tail.insert("key", "x".repeat(LONGEST - 6).parse().unwrap());
        assert!(trailers(&tail).is_err());
    }
}
