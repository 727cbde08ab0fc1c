//! Metadata blocks of arbitrary bytes: writing again what was read must return the same.

use super::block::{read_request, read_response, read_trailers, request, response, trailers};
use crate::timeout::{HEADER, parse, write};

/// Runs one input: the kind of block, and its bytes.
pub(crate) fn run(data: &[u8]) {
    let Some((which, block)) = data.split_first() else { return };
    match which % 3 {
        0 => requests(block),
        1 => responses(block),
        _ => ends(block),
    }
}

fn requests(block: &[u8]) {
    let read = match read_request(block) {
        Ok(read) => read,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let (parts, ()) = read.into_parts();
    if let Some(time) = parts.headers.get(HEADER).and_then(parse) {
        let again = parse(&write(time)).expect("what was written is read");
        assert!(again <= time, "{again:?} for {time:?}");
    }
    let Ok(written) = request(&parts) else { return };
    let (again, ()) = read_request(&written).expect("what was written is read").into_parts();
    assert_eq!((again.uri, again.headers), (parts.uri, parts.headers));
}

fn responses(block: &[u8]) {
    let Ok((read, tail)) = read_response(block) else { return };
    let Ok(written) = response(read.status(), read.headers(), tail.as_ref()) else { return };
    let (again, tail_again) = read_response(&written).expect("what was written is read");
    assert_eq!((again.status(), again.headers()), (read.status(), read.headers()));
    assert_eq!(tail_again, tail);
}

fn ends(block: &[u8]) {
    let Ok(read) = read_trailers(block) else { return };
    let Ok(written) = trailers(&read) else { return };
    assert_eq!(read_trailers(&written), Ok(read));
}
