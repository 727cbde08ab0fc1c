//! Calls with arguments that are read in place, and replies that are written into the memory that
//! they are sent from.

use std::cell::RefCell;
use std::ops::Range;

use breezeway::{ForeignBytes, Message};

use crate::bytes::{INLINE, KEPT};
use crate::call::{Call, Exchange, Kind, other_way};
use crate::caller::Outcome;
use crate::error::Error;
use crate::reply::Reply;
use crate::thrift::{self, EncodeError, ExceptionKind, Output, View, view_slice};

thread_local! {
    static COPY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The bytes of a call's arguments, which views borrow from.
///
/// They are in the client's memory if the session trusts its client
/// ([`breezeway::SessionOptions::trust`]), and a private copy otherwise, because the client could
/// still change them.
pub struct Request(Held);

enum Held {
    /// In the client's memory.
    Lent(Message),
    /// A copy, in memory that this thread reuses.
    Copied(Vec<u8>),
    /// A part of the bytes received on a connection.
    Received(Vec<u8>, Range<usize>),
}

impl Request {
    pub(crate) fn copied(bytes: ForeignBytes<'_>) -> Self {
        let mut copy = COPY.take();
        copy.clear();
        bytes.append_to(&mut copy);
        Self(Held::Copied(copy))
    }

    pub(crate) fn received(bytes: Vec<u8>, arguments: Range<usize>) -> Self {
        Self(Held::Received(bytes, arguments))
    }

    /// Takes the request of a session's call: in place, if it is available as a slice.
    pub(crate) fn of(call: &mut breezeway::Call<'_>) -> Self {
        if call.request().as_slice().is_some()
            && let Some(message) = call.lease()
        {
            if message.bytes().as_slice().is_some() {
                return Self(Held::Lent(message));
            }
            return Self::copied(message.bytes());
        }
        Self::copied(call.request())
    }

    /// Decodes a view of the arguments, which validates all of them.
    #[inline]
    pub fn view<'a, A: View<'a>>(&'a self) -> Result<A, Error> {
        let bytes = match &self.0 {
            Held::Lent(message) => message.bytes().as_slice().unwrap_or_default(),
            Held::Copied(copy) => copy,
            Held::Received(bytes, arguments) => &bytes[arguments.clone()],
        };
        view_slice(bytes).map_err(Error::Arguments)
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if let Held::Copied(copy) = &mut self.0
            && copy.capacity() <= KEPT
        {
            COPY.set(std::mem::take(copy));
        }
    }
}

/// Destination of a call's reply, from the start of its handler to its end.
pub struct ReplyPlace<'c> {
    exchange: &'c mut dyn Exchange,
    /// Buffer for a reply that travels in the ring.
    small: [u8; INLINE],
    written: Option<Place>,
}

/// Location and length of a written reply.
#[derive(Clone, Copy)]
enum Place {
    Small(usize),
    Reserved(usize),
}

/// Space for a handler's reply: generated code adds the method's types.
pub struct ReplySpace<'r> {
    exchange: &'r mut dyn Exchange,
    small: &'r mut [u8; INLINE],
    written: &'r mut Option<Place>,
}

/// Defines the type by which handlers of a method write its reply, from the method's writer, view
/// and error. Generated code calls it for every method that is served in place and returns a value.
#[macro_export]
macro_rules! reply_space {
    (
        $(#[$about:meta])*
        pub struct $space:ident($writer:ident, $view:ty) -> $error:ty;
    ) => {
        $(#[$about])*
        pub struct $space<'r>($crate::ReplySpace<'r>);

        impl<'r> $space<'r> {
            /// Wraps the space of a reply.
            pub fn new(space: $crate::ReplySpace<'r>) -> Self {
                Self(space)
            }

            /// Writes the result or an exception. `write` runs twice if that takes more than 104
            /// bytes.
            pub fn write<F>(self, write: F) -> ::std::result::Result<$crate::Written, $error>
            where
                F: for<'w, 'b> ::std::ops::Fn(
                    $writer<'w, $crate::thrift::Output<'b>>,
                ) -> $writer<'w, $crate::thrift::Output<'b>>,
            {
                let write = |to: &mut $crate::thrift::Output<'_>| write($writer::new(to)).end();
                self.0.write(write)
            }

            /// Writes a view, whose lists and maps are copied as encoded bytes.
            pub fn view(self, reply: $view) -> ::std::result::Result<$crate::Written, $error> {
                let write = |to: &mut $crate::thrift::Output<'_>| {
                    $crate::thrift::Encode::encode(&reply, to);
                };
                self.0.write(write)
            }
        }
    };
}

/// Proof that a reply was written. It is sent once the handler has returned this.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use breezeway_rpc::{Context, Error, Server, Written};
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/users_in_place.rs"));
/// use users::*;
///
/// struct Table {
///     ages: BTreeMap<String, i64>,
/// }
///
/// impl InPlaceUsers for Table {
///     fn age(
///         &self,
///         _: &Context,
///         asked: UsersAgeArgsView<'_>,
///         reply: UsersAgeReplySpace<'_>,
///     ) -> Result<Written, UsersAgeError> {
///         match self.ages.get(asked.name) {
///             Some(age) => reply.write(|to| to.success(*age)),
///             None => reply.write(|to| to.missing(|missing| missing.name(asked.name))),
///         }
///     }
///
///     fn seen(&self, _: &Context, asked: UsersSeenArgsView<'_>) {
///         println!("{} was here", asked.name);
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let address = format!("shm:{}/users.sock", folder.path().display());
/// let table = Table { ages: [("Ada".to_owned(), 36)].into() };
/// let server = Server::bind(&address)?.add_service(InPlaceUsersServer(table))?;
/// # let stopper = server.stopper();
/// let serving = std::thread::spawn(move || server.serve());
///
/// let client = UsersClient::new(breezeway::Client::connect(&address)?);
/// assert_eq!(client.age("Ada".to_owned())?, 36);
/// assert!(matches!(client.age("Bob".to_owned()), Err(UsersAgeError::Missing(_))));
/// # drop(client);
/// # stopper.stop();
/// # serving.join().unwrap()?;
/// # Ok(())
/// # }
/// ```
///
/// A view cannot outlive its call:
///
/// ```compile_fail,E0521
/// # use std::sync::Mutex;
/// # use breezeway_rpc::{Context, Error, Written};
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/users_in_place.rs"));
/// # use users::*;
/// struct Kept(Mutex<Vec<&'static str>>);
///
/// impl InPlaceUsers for Kept {
///     fn seen(&self, _: &Context, asked: UsersSeenArgsView<'_>) {
///         self.0.lock().unwrap().push(asked.name);
///     }
/// #   fn age(
/// #       &self,
/// #       _: &Context,
/// #       _: UsersAgeArgsView<'_>,
/// #       reply: UsersAgeReplySpace<'_>,
/// #   ) -> Result<Written, UsersAgeError> {
/// #       reply.write(|to| to.success(1))
/// #   }
/// }
/// # fn main() {}
/// ```
#[derive(Debug)]
#[must_use = "a reply is sent when the handler returns this"]
pub struct Written(());

impl Call<'_> {
    /// Returns the bytes of the arguments, and the destination of the reply.
    #[inline]
    pub fn in_place(&mut self) -> Result<(Request, ReplyPlace<'_>), Error> {
        let Kind::Call(exchange) = &mut self.kind else { return Err(other_way()) };
        let request = exchange.take_request();
        Ok((request, ReplyPlace { exchange: &mut **exchange, small: [0; INLINE], written: None }))
    }
}

impl ReplyPlace<'_> {
    /// Returns the space for the handler, which writes at most one reply.
    #[inline]
    pub fn space(&mut self) -> ReplySpace<'_> {
        let Self { exchange, small, written } = self;
        ReplySpace { exchange: &mut **exchange, small, written }
    }

    /// Sends the written reply or the error. An error that the IDL does not declare is returned,
    /// and fails the call; a reply that was written before is not sent then.
    ///
    /// The request is released first: the client may use its memory for the next message.
    #[inline]
    pub fn finish<A>(
        &mut self,
        request: Request,
        result: Result<Written, <A::Reply as Reply>::Error>,
    ) -> Result<(), Error>
    where
        A: thrift::Call<Reply: Reply>,
    {
        drop(request);
        match (result, self.written) {
            (Ok(Written(())), Some(Place::Small(len))) => {
                self.exchange.reply_with(&self.small[..len])
            }
            (Ok(Written(())), Some(Place::Reserved(len))) => self.exchange.commit(len),
            (Ok(Written(())), None) => Err(Error::new(
                ExceptionKind::INTERNAL_ERROR,
                "the handler returned what another call's reply gave it",
            )),
            (Err(error), _) => self.send::<A>(Err(error)),
        }
    }

    /// Finishes like [`finish`](Self::finish), for a method that returns nothing.
    #[inline]
    pub fn finish_void<A>(&mut self, request: Request, result: Outcome<A>) -> Result<(), Error>
    where
        A: thrift::Call<Reply: Reply>,
    {
        drop(request);
        self.send::<A>(result)
    }

    #[inline]
    fn send<A>(&mut self, result: Outcome<A>) -> Result<(), Error>
    where
        A: thrift::Call<Reply: Reply>,
    {
        self.exchange.abandon();
        Call::new(&mut *self.exchange).reply::<A>(result)
    }
}

impl ReplySpace<'_> {
    /// Writes the reply. `write` runs twice if it takes more than 104 bytes, because space is then
    /// reserved once the length is known.
    #[inline]
    pub fn write<E: From<Error>>(self, write: impl Fn(&mut Output<'_>)) -> Result<Written, E> {
        self.written(write).map_err(E::from)
    }

    #[inline]
    fn written(self, write: impl Fn(&mut Output<'_>)) -> Result<Written, Error> {
        let into = |bytes: &mut [u8]| {
            let mut output = Output::new(bytes);
            write(&mut output);
            output.finish()
        };
        let place = match into(self.small) {
            Ok(len) => Place::Small(len),
            Err(EncodeError::Full { needed, .. }) => {
                Place::Reserved(into(self.exchange.reserve(needed)?)?)
            }
            Err(error) => return Err(error.into()),
        };
        *self.written = Some(place);
        Ok(Written(()))
    }
}
