//! The rows of `docs/vectors/grpc.txt`, which other languages read too.

use breezeway_tokio::{ErrorCode, StreamError};
use http::{HeaderMap, HeaderValue};

use super::block::{
    read_request, read_response, read_trailers, request, response, trailers as write_trailers,
};
use super::inbound::status_of;
use crate::timeout::parse;

const TEXT: &str = include_str!("../../../../docs/vectors/grpc.txt");

struct Row {
    left: &'static str,
    right: &'static str,
    /// True if an encoder writes the left side.
    is_written: bool,
}

fn rows(kind: &str) -> Vec<Row> {
    let row = |line: &'static str| {
        let rest = line.strip_prefix(kind)?.strip_prefix(' ')?;
        let written = rest.split_once(" <-> ");
        let (left, right) = written.or_else(|| rest.split_once(" -> "))?;
        Some(Row { left, right, is_written: written.is_some() })
    };
    let rows: Vec<_> = TEXT.lines().filter_map(row).collect();
    assert!(!rows.is_empty(), "no rows of {kind}");
    rows
}

fn unhex(column: &str) -> Vec<u8> {
    let digits = if column == "-" { "" } else { column };
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    if digits.is_empty() { "-".to_owned() } else { digits }
}

fn shown(fields: &HeaderMap) -> Vec<String> {
    let field = |(name, value): (&http::HeaderName, &HeaderValue)| {
        format!("{}={}", hex(name.as_str().as_bytes()), hex(value.as_bytes()))
    };
    fields.iter().map(field).collect()
}

/// Compares a row with the content that was read, and the bytes that are written again.
fn check(row: &Row, read: Option<(String, Vec<u8>)>) {
    let Some((read, written)) = read else {
        return assert_eq!(row.right, "violation", "{}", row.left);
    };
    assert_eq!(read, row.right, "{}", row.left);
    if row.is_written {
        assert_eq!(hex(&written), row.left);
    }
}

#[test]
fn request_blocks_are_those_of_vectors() {
    for row in rows("request") {
        let read = read_request(&unhex(row.left)).ok().map(|read| {
            let (head, ()) = read.into_parts();
            let mut columns = vec![hex(head.uri.to_string().as_bytes())];
            columns.extend(shown(&head.headers));
            (columns.join(" "), request(&head).unwrap())
        });
        check(&row, read);
    }
}

#[test]
fn response_blocks_are_those_of_vectors() {
    for row in rows("response") {
        let read = read_response(&unhex(row.left)).ok().map(|(read, trailers)| {
            let mut columns = vec![read.status().as_u16().to_string()];
            columns.extend(shown(read.headers()));
            if let Some(trailers) = &trailers {
                columns.push("/".to_owned());
                columns.extend(shown(trailers));
            }
            let written = response(read.status(), read.headers(), trailers.as_ref()).unwrap();
            (columns.join(" "), written)
        });
        check(&row, read);
    }
}

#[test]
fn trailers_are_those_of_vectors() {
    for row in rows("trailers") {
        let read = read_trailers(&unhex(row.left)).ok().map(|trailers| {
            let columns = shown(&trailers).join(" ");
            let columns = if columns.is_empty() { "-".to_owned() } else { columns };
            (columns, write_trailers(&trailers).unwrap())
        });
        check(&row, read);
    }
}

#[test]
fn timeouts_and_resets_are_those_of_vectors() {
    for row in rows("timeout") {
        let time = parse(&HeaderValue::from_static(row.left));
        let read = time.map_or("none".to_owned(), |time| time.as_nanos().to_string());
        assert_eq!(read, row.right, "{}", row.left);
    }
    for row in rows("reset") {
        let code = ErrorCode::from_number(row.left.parse().unwrap());
        let status = status_of(&StreamError::Reset(code));
        assert_eq!((status.code() as i32).to_string(), row.right, "{}", row.left);
    }
}

/// Changes, cuts and extends the blocks of the vectors.
#[test]
fn changed_blocks_are_parsed_without_panic() {
    // A linear congruential generator: the same bytes in each run.
    let mut state = 1u64;
    let mut next = |end: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % end
    };
    type IsValid = fn(&[u8]) -> bool;
    let kinds: [(&str, IsValid); 3] = [
        ("request", |block| read_request(block).is_ok()),
        ("response", |block| read_response(block).is_ok()),
        ("trailers", |block| read_trailers(block).is_ok()),
    ];
    for (kind, is_valid) in kinds {
        const MOST: usize = 5_000;
        let (rows, mut valid) = (rows(kind), 0);
        for at in 0..MOST {
            let mut block = unhex(rows[at % rows.len()].left);
            block.resize(block.len() + next(3), 0);
            for _ in 0..next(4).min(block.len()) {
                let len = block.len();
                block[next(len)] = next(256) as u8;
            }
            block.truncate(block.len().saturating_sub(next(3)));
            valid += usize::from(is_valid(&block));
        }
        assert!((MOST / 50..MOST - MOST / 50).contains(&valid), "{valid} blocks of a {kind}");
    }
}
