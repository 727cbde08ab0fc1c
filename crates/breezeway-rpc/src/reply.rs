//! What comes back from a method, between the wire and Rust.

use std::fmt::Display;

use crate::error::Error;
use crate::thrift::{Decode, Encode};

/// What a reply carries: a result or an exception that the IDL declares. Generated for every method
/// with a reply; `()` is that of a void method without exceptions.
pub trait Reply: Encode + Decode {
    /// What the method returns.
    type Value;
    /// Why it fails: an exception, or an error of the call.
    type Error: From<Error> + Display;

    /// The reply that says so. Errors that the IDL does not declare are none.
    fn from_result(result: Result<Self::Value, Self::Error>) -> Result<Self, Error>;

    /// What the reply says.
    fn into_result(self) -> Result<Self::Value, Self::Error>;
}

impl Reply for () {
    type Value = ();
    type Error = Error;

    fn from_result(result: Result<(), Error>) -> Result<Self, Error> {
        result
    }

    fn into_result(self) -> Result<(), Error> {
        Ok(())
    }
}
