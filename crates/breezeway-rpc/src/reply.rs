//! Replies of methods, between the wire and Rust.

use std::convert::Infallible;
use std::fmt::{Debug, Display};

use crate::error::Error;
use crate::thrift::{Decode, DecodeError, Encode, Fields, Sink, Source, Wire};

/// Body of a reply: a result or an exception that the IDL declares. It is a [`Returned`] or a
/// [`Done`] in general, and `()` for a void method without exceptions.
pub trait Reply: Encode + Decode {
    /// Result of the method.
    type Value;
    /// Error of the method: an exception, or an error of the call.
    type Error: From<Error> + Display;

    /// Converts a result to a reply. Errors that the IDL does not declare are returned.
    fn from_result(result: Result<Self::Value, Self::Error>) -> Result<Self, Error>;

    /// Converts the reply to a result.
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

/// Error of a method: an enum of its declared exceptions and [`Error`], which
/// [`method_error!`](crate::method_error) generates from the IDL; [`Error`] for a method without
/// exceptions.
pub trait MethodError: From<Error> + Display {
    /// A declared exception.
    type Exception: Debug;

    /// Returns the exception, or the other error.
    fn into_exception(self) -> Result<Self::Exception, Error>;

    /// Converts an exception to the error.
    fn from_exception(exception: Self::Exception) -> Self;

    /// Writes an exception as a field of the reply.
    fn encode_exception<'a, S: Sink<'a>>(exception: &'a Self::Exception, to: &mut S);

    /// Takes the value of the reply's field `id`, after its header, if it is an exception's.
    /// Returns true if it was.
    fn read_exception<R, S: Source>(
        id: i16,
        fields: &mut Fields<'_, S>,
        reply: &mut R,
        thrown: impl FnOnce(Self::Exception) -> R,
    ) -> Result<bool, DecodeError>;
}

impl MethodError for Error {
    type Exception = Infallible;

    #[inline]
    fn into_exception(self) -> Result<Infallible, Error> {
        Err(self)
    }

    #[inline]
    fn from_exception(exception: Infallible) -> Self {
        match exception {}
    }

    #[inline]
    fn encode_exception<'a, S: Sink<'a>>(exception: &'a Infallible, _: &mut S) {
        match *exception {}
    }

    #[inline(always)]
    fn read_exception<R, S: Source>(
        _: i16,
        fields: &mut Fields<'_, S>,
        _: &mut R,
        _: impl FnOnce(Infallible) -> R,
    ) -> Result<bool, DecodeError> {
        fields.skip_next()
    }
}

/// Reply of a method that returns a value: field 0 is the value, others are exceptions.
#[derive(Debug, Default)]
pub enum Returned<T, E: MethodError> {
    /// No field known to this side.
    #[default]
    Unset,
    /// The value.
    Success(T),
    /// A declared exception.
    Thrown(E::Exception),
}

impl<T, E: MethodError> Wire for Returned<T, E> {}

impl<T: Encode, E: MethodError> Encode for Returned<T, E> {
    #[inline]
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        match self {
            Self::Unset => {}
            Self::Success(value) => to.field(0, value),
            Self::Thrown(exception) => E::encode_exception(exception, to),
        }
        to.stop();
    }
}

impl<T: Decode, E: MethodError> Decode for Returned<T, E> {
    #[inline]
    fn decode_into<S: Source>(&mut self, from: &mut S) -> Result<(), DecodeError> {
        let mut fields = Fields::begin(from)?;
        while let Some(id) = fields.next_id()? {
            match id {
                0 => fields.read_next_as(self, Self::Success)?,
                id => E::read_exception(id, &mut fields, self, Self::Thrown)?,
            };
        }
        Ok(())
    }
}

impl<T: Encode + Decode, E: MethodError> Reply for Returned<T, E> {
    type Value = T;
    type Error = E;

    #[inline]
    fn from_result(result: Result<T, E>) -> Result<Self, Error> {
        match result {
            Ok(value) => Ok(Self::Success(value)),
            Err(error) => error.into_exception().map(Self::Thrown),
        }
    }

    #[inline]
    fn into_result(self) -> Result<T, E> {
        match self {
            Self::Success(value) => Ok(value),
            Self::Unset => Err(Error::MissingResult.into()),
            Self::Thrown(exception) => Err(E::from_exception(exception)),
        }
    }
}

/// Reply of a method that returns nothing, or returns values as messages of a stream: fields are
/// exceptions, and without one it is done.
#[derive(Debug, Default)]
pub enum Done<E: MethodError> {
    /// No exception known to this side.
    #[default]
    Done,
    /// A declared exception.
    Thrown(E::Exception),
}

impl<E: MethodError> Wire for Done<E> {}

impl<E: MethodError> Encode for Done<E> {
    #[inline]
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        if let Self::Thrown(exception) = self {
            E::encode_exception(exception, to);
        }
        to.stop();
    }
}

impl<E: MethodError> Decode for Done<E> {
    #[inline]
    fn decode_into<S: Source>(&mut self, from: &mut S) -> Result<(), DecodeError> {
        let mut fields = Fields::begin(from)?;
        while let Some(id) = fields.next_id()? {
            E::read_exception(id, &mut fields, self, Self::Thrown)?;
        }
        Ok(())
    }
}

impl<E: MethodError> Reply for Done<E> {
    type Value = ();
    type Error = E;

    fn from_result(result: Result<(), E>) -> Result<Self, Error> {
        match result {
            Ok(()) => Ok(Self::Done),
            Err(error) => error.into_exception().map(Self::Thrown),
        }
    }

    fn into_result(self) -> Result<(), E> {
        match self {
            Self::Done => Ok(()),
            Self::Thrown(exception) => Err(E::from_exception(exception)),
        }
    }
}

/// Defines the error type of a method that throws: an enum of its exceptions by their numbers in
/// the IDL, each with the trait that displays it and, for conversion by `?`, `From`; and the
/// variant of an [`Error`]. Generated code calls it for every such method.
///
/// ```
/// # use std::fmt;
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/users.rs"));
/// use users::NoSuchUser;
///
/// breezeway_rpc::method_error! {
///     /// Why it failed.
///     pub enum AgeError {
///         1 => Missing(NoSuchUser: Display + From),
///         _ => Rpc,
///     }
/// }
///
/// fn age(name: &str) -> Result<i64, AgeError> {
///     Err(NoSuchUser { name: name.to_owned() })?
/// }
///
/// # fn main() {
/// assert!(matches!(age("Bob"), Err(AgeError::Missing(_))));
/// # }
/// ```
#[macro_export]
macro_rules! method_error {
    (
        $(#[$about:meta])*
        $vis:vis enum $name:ident {
            $(
                $(#[$said:meta])*
                $id:literal => $variant:ident($thrown:ty: $show:ident $(+ $from:ident)?),
            )*
            _ => $rpc:ident,
        }
    ) => {
        $(#[$about])*
        #[derive(Debug)]
        $vis enum $name {
            $($(#[$said])* $variant($thrown),)*
            /// The call failed otherwise.
            $rpc($crate::Error),
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self {
                    $(Self::$variant(exception) => ::std::fmt::$show::fmt(exception, formatter),)*
                    Self::$rpc(error) => ::std::fmt::Display::fmt(error, formatter),
                }
            }
        }

        impl ::std::error::Error for $name {
            /// Returns the source of the error that is displayed. Exceptions of an IDL have none.
            fn source(
                &self,
            ) -> ::std::option::Option<&(dyn ::std::error::Error + 'static)> {
                match self {
                    Self::$rpc(error) => ::std::error::Error::source(error),
                    _ => ::std::option::Option::None,
                }
            }
        }

        $($(
            impl ::std::convert::$from<$thrown> for $name {
                fn from(exception: $thrown) -> Self {
                    Self::$variant(exception)
                }
            }
        )?)*

        impl ::std::convert::From<$crate::Error> for $name {
            fn from(error: $crate::Error) -> Self {
                Self::$rpc(error)
            }
        }

        impl $crate::MethodError for $name {
            type Exception = Self;

            fn into_exception(self) -> ::std::result::Result<Self, $crate::Error> {
                match self {
                    Self::$rpc(error) => ::std::result::Result::Err(error),
                    exception => ::std::result::Result::Ok(exception),
                }
            }

            fn from_exception(exception: Self) -> Self {
                exception
            }

            fn encode_exception<'a, S: $crate::thrift::Sink<'a>>(exception: &'a Self, to: &mut S) {
                match exception {
                    $(Self::$variant(exception) => to.field($id, exception),)*
                    Self::$rpc(_) => {}
                }
            }

            #[inline(always)]
            fn read_exception<R, S: $crate::thrift::Source>(
                id: i16,
                fields: &mut $crate::thrift::Fields<'_, S>,
                reply: &mut R,
                thrown: impl ::std::ops::FnOnce(Self) -> R,
            ) -> ::std::result::Result<bool, $crate::thrift::DecodeError> {
                match id {
                    $($id => fields.read_next_as(reply, |found| thrown(Self::$variant(found))),)*
                    _ => fields.skip_next(),
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;
    use crate::thrift::{decode_slice, to_vec};

    crate::method_error! {
        /// Error of a method.
        enum LookUpError {
            1 => Lost(String: Display + From),
            -1 => Unnumbered(bool: Debug),
            _ => Rpc,
        }
    }

    const STOP: &[u8] = &[0];
    const SEVEN: &[u8] = &[8, 0, 0, 0, 0, 0, 7];
    const LOST: &[u8] = &[11, 0, 1, 0, 0, 0, 1, b'x'];
    const UNNUMBERED: &[u8] = &[2, 0xff, 0xff, 1];
    /// A field unknown to this side, and fields that it knows with another type.
    const UNKNOWN: &[u8] = &[8, 0, 9, 0, 0, 0, 7];
    const OTHER_RESULT: &[u8] = &[11, 0, 0, 0, 0, 0, 1, b'x'];
    const OTHER_EXCEPTION: &[u8] = &[8, 0, 1, 0, 0, 0, 5];

    fn read<R: Reply>(fields: &[&[u8]]) -> Result<R::Value, R::Error> {
        let bytes = [fields.concat(), STOP.to_vec()].concat();
        decode_slice::<R>(&bytes).unwrap().into_result()
    }

    #[test]
    fn a_reply_is_its_last_field_that_is_known() {
        type Reply = Returned<i32, LookUpError>;
        for fields in [&[SEVEN][..], &[UNKNOWN, SEVEN], &[LOST, SEVEN], &[SEVEN, OTHER_EXCEPTION]] {
            assert_eq!(read::<Reply>(fields).unwrap(), 7, "{fields:?}");
        }
        for fields in [&[LOST][..], &[SEVEN, LOST], &[LOST, UNKNOWN]] {
            let error = read::<Reply>(fields).unwrap_err();
            assert!(matches!(&error, LookUpError::Lost(what) if what == "x"), "{fields:?}");
        }
        let error = read::<Reply>(&[UNNUMBERED]).unwrap_err();
        assert!(matches!(error, LookUpError::Unnumbered(true)), "{error}");
        for fields in [&[][..], &[UNKNOWN], &[OTHER_RESULT], &[OTHER_EXCEPTION]] {
            let error = read::<Reply>(fields).unwrap_err();
            assert!(matches!(error, LookUpError::Rpc(Error::MissingResult)), "{fields:?}");
        }
    }

    #[test]
    fn error_of_the_call_keeps_its_source() {
        let cause = decode_slice::<i32>(&[]).unwrap_err();
        let error = LookUpError::from(Error::Reply(cause.clone()));
        let chain = format!("{}: {cause}", Error::Reply(cause.clone()));
        assert_eq!(breezeway::describe(&error), chain);
        assert!(LookUpError::Lost("x".to_owned()).source().is_none());
    }

    #[test]
    fn void_method_succeeds_without_known_exception() {
        for fields in [&[][..], &[SEVEN], &[UNKNOWN], &[OTHER_EXCEPTION]] {
            read::<Done<LookUpError>>(fields).unwrap_or_else(|error| panic!("{fields:?}: {error}"));
            read::<Done<Error>>(fields).unwrap_or_else(|error| panic!("{fields:?}: {error}"));
        }
        for fields in [&[LOST][..], &[LOST, SEVEN]] {
            let error = read::<Done<LookUpError>>(fields).unwrap_err();
            assert_eq!(error.to_string(), "x", "{fields:?}");
        }
    }

    #[test]
    fn a_result_is_written_as_its_field() {
        let written = |result| {
            let reply = Returned::<i32, LookUpError>::from_result(result).unwrap();
            to_vec(&reply).unwrap()
        };
        assert_eq!(written(Ok(7)), [SEVEN, STOP].concat());
        assert_eq!(written(Err("x".to_owned().into())), [LOST, STOP].concat());
        let done = Done::<LookUpError>::from_result(Ok(())).unwrap();
        assert_eq!(to_vec(&done).unwrap(), STOP);
        let thrown = Done::<LookUpError>::from_result(Err("x".to_owned().into())).unwrap();
        assert_eq!(to_vec(&thrown).unwrap(), [LOST, STOP].concat());
        let other = Returned::<i32, LookUpError>::from_result(Err(Error::MissingResult.into()));
        assert!(matches!(other, Err(Error::MissingResult)));
    }
}
