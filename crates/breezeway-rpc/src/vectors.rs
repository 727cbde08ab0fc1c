//! The rows of `docs/vectors/services.txt`, which other languages read too.

use breezeway::{CallError, CallId, ErrorCode, ForeignBytes};

use crate::error::Error;
use crate::metadata::{self, Pairs};
use crate::method::Method;
use crate::stream::{Received, outcome};

const TEXT: &str = include_str!("../../../docs/vectors/services.txt");

/// Returns the rows of one kind: columns, and the outcome.
fn rows(kind: &str) -> Vec<(Vec<&'static str>, &'static str)> {
    let row = |line: &'static str| {
        let (left, right) = line.split_once(" -> ")?;
        let mut columns = left.split_whitespace();
        (columns.next() == Some(kind)).then(|| (columns.collect(), right))
    };
    let rows: Vec<_> = TEXT.lines().filter_map(row).collect();
    assert!(!rows.is_empty(), "no rows of {kind}");
    rows
}

fn text(column: &str) -> &str {
    if column == "-" { "" } else { column }
}

fn unhex(column: &str) -> Vec<u8> {
    let digits = text(column);
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    if digits.is_empty() { "-".to_owned() } else { digits }
}

fn shown(pairs: &Pairs) -> String {
    let pair = |(name, value): &(Vec<u8>, Vec<u8>)| format!("{}={}", hex(name), hex(value));
    pairs.iter().map(pair).collect::<Vec<_>>().join(" ")
}

#[test]
fn tags_are_those_of_vectors() {
    for (columns, expected) in rows("tag") {
        let number = Method::number(text(columns[0]), text(columns[1]));
        assert_eq!(number.to_string(), expected, "{columns:?}");
    }
}

#[test]
fn metadata_blocks_are_those_of_vectors() {
    for (columns, expected) in rows("pairs") {
        let block = unhex(columns[0]);
        let pairs = metadata::decode(&block);
        let found = pairs.as_ref().map_or("violation".to_owned(), shown);
        assert_eq!(found, expected, "{columns:?}");
        if let Some(pairs) = pairs {
            assert_eq!(metadata::encode(&pairs).unwrap(), Some(block));
        }
    }
}

#[test]
fn failed_calls_are_those_of_vectors() {
    for (columns, expected) in rows("failure") {
        let code = ErrorCode::from_number(columns[0].parse().unwrap());
        let reason = String::from_utf8(unhex(columns[1])).unwrap();
        let error = CallError::Failed { call: CallId::from_number(1), code, reason };
        let found = match Error::from(error) {
            Error::Application(exception) => format!("exception {}", exception.kind.0),
            Error::Business(error) => {
                format!("business {} {}", error.status, hex(error.message.as_bytes()))
            }
            _ => "other".to_owned(),
        };
        assert_eq!(found, expected, "{columns:?}");
    }
}

#[test]
fn last_messages_are_those_of_vectors() {
    for (columns, expected) in rows("last") {
        let message = unhex(columns[0]);
        let found = match outcome::read(ForeignBytes::stable(&message)) {
            None => "message".to_owned(),
            Some(Ok(Received::Thrown(body))) => format!("thrown {}", hex(&body.bytes().to_vec())),
            Some(Err(Error::Application(exception))) => {
                format!("exception {} {}", exception.kind.0, hex(exception.message.as_bytes()))
            }
            Some(Err(Error::Business(error))) => {
                format!("business {} {}", error.status, hex(error.message.as_bytes()))
            }
            Some(_) => "violation".to_owned(),
        };
        assert_eq!(found, expected, "{columns:?}");
    }
}
