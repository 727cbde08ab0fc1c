//! The native server's last message, if its method failed.
//!
//! ```text
//! 0  0xff, which begins no struct
//! 1  0: an exception that the IDL declares, 1: another error, 2: a business error
//! 2  0: the reply with it, 1: Thrift's exception, 2: pairs as in TTHeader, as metadata
//! ```

use breezeway::ForeignBytes;

use super::{Body, Ended, Received};
use crate::business::BusinessError;
use crate::bytes::copy_of;
use crate::error::Error;
use crate::metadata;
use crate::thrift::{ApplicationException, TtHeader, decode_slice, to_vec};

const MARK: u8 = 0xff;
const THROWN: u8 = 0;
const FAILED: u8 = 1;
const REFUSED: u8 = 2;

/// Returns the last message, if there is one.
pub(crate) fn encode(ended: Ended) -> Result<Option<Vec<u8>>, Error> {
    let (kind, bytes) = match ended {
        Ended::Well(value) => return Ok(value),
        Ended::Thrown(reply, _) => (THROWN, reply),
        Ended::Failed(Error::Business(error)) if error.status != 0 => {
            let mut header = TtHeader::default();
            error.write_to(&mut header);
            (REFUSED, metadata::encode(&header.texts)?.unwrap_or_default())
        }
        Ended::Failed(error) => (FAILED, to_vec(&error.into_exception())?),
    };
    Ok(Some([&[MARK, kind][..], &bytes].concat()))
}

/// Reads an outcome, if a server's message is one.
pub(crate) fn read(message: ForeignBytes<'_>) -> Option<Result<Received, Error>> {
    let mut mark = [0];
    if message.is_empty() {
        return None;
    }
    message.slice(..1).copy_to(&mut mark);
    (mark == [MARK]).then(|| decode(&copy_of(message)?[1..]))
}

fn decode(outcome: &[u8]) -> Result<Received, Error> {
    let unknown = || Error::Protocol("the stream ended in an unknown way".to_owned());
    match outcome.split_first().ok_or_else(unknown)? {
        (&THROWN, reply) => {
            Ok(Received::Thrown(Body::Private(copy_of(ForeignBytes::stable(reply))?)))
        }
        (&FAILED, exception) => {
            let exception: ApplicationException = decode_slice(exception).map_err(Error::Reply)?;
            Err(Error::Application(exception))
        }
        (&REFUSED, pairs) => {
            let texts = metadata::decode(pairs).ok_or_else(unknown)?;
            let header = TtHeader { texts, ..TtHeader::default() };
            Err(BusinessError::read_from(&header).map_or_else(unknown, Error::Business))
        }
        _ => Err(unknown()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thrift::ExceptionKind;

    fn told(ended: Ended) -> Option<Result<Received, Error>> {
        let bytes = encode(ended).unwrap().unwrap();
        read(ForeignBytes::stable(&bytes))
    }

    #[test]
    fn a_failure_arrives_with_its_kind_and_its_words() {
        let failure = Error::new(ExceptionKind(77), "no such coupon");
        let Some(Err(Error::Application(error))) = told(Ended::Failed(failure)) else { panic!() };
        assert_eq!((error.kind, &*error.message), (ExceptionKind(77), "no such coupon"));
    }

    #[test]
    fn business_error_arrives_with_all_fields() {
        let extra = [("since".to_owned(), "May".to_owned())].into();
        let refusal = BusinessError { status: -3, message: "too late".to_owned(), extra };
        let Some(Err(Error::Business(error))) = told(Ended::Failed(refusal.clone().into())) else {
            panic!()
        };
        assert_eq!(error, refusal);
    }

    #[test]
    fn a_refusal_without_a_status_is_a_failure() {
        let refusal = BusinessError::new(0, "all is well");
        let told = told(Ended::Failed(refusal.into()));
        assert!(matches!(told, Some(Err(Error::Application(_)))));
    }

    #[test]
    fn structs_are_no_outcomes() {
        for bytes in [&b""[..], b"\0", b"\x0b\0\x01\0\0\0\0\0"] {
            assert!(read(ForeignBytes::stable(bytes)).is_none(), "{bytes:?}");
        }
    }

    #[test]
    fn outcomes_that_are_cut_or_unknown_are_refused() {
        for bytes in
            [&b"\xff"[..], b"\xff\x03", b"\xff\x01", b"\xff\x01\x0b", b"\xff\x02", b"\xff\x02\0"]
        {
            assert!(matches!(read(ForeignBytes::stable(bytes)), Some(Err(_))), "{bytes:?}");
        }
    }
}
