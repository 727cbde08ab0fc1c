//! Callbacks of a served session.

use crate::error::{SessionEnd, StreamError};
use crate::session::Session;
use crate::stream::Stream;

/// Callbacks of a served session, called on the thread that serves it; upstream's `ListenCallback`
/// and `StreamCallbacks` in one. All but [`Self::arrived`] do nothing by default.
///
/// A callback that panics closes its stream, and no other; no further callback is called for that
/// stream.
///
/// ```
/// use breezeway_shmipc::{Handler, Session, SessionEnd, Stream, StreamError};
///
/// struct Echo;
///
/// impl Handler for Echo {
///     fn opened(&self, session: &Session, stream: &mut Stream) {
///         println!("stream {} of {:?}", stream.id(), session.peer());
///     }
///
///     fn arrived(&self, _: &Session, stream: &mut Stream) -> Result<(), StreamError> {
///         let (reader, writer) = stream.halves();
///         writer.forward(reader).map(|_| ())
///     }
///
///     fn ended(&self, _: &Session, end: &SessionEnd) {
///         println!("{end}");
///     }
/// }
/// ```
pub trait Handler {
    /// Called when the session begins.
    fn began(&self, session: &Session) {
        let _ = session;
    }

    /// Called when the peer has opened a stream and data has arrived on it (upstream:
    /// `OnNewStream`).
    fn opened(&self, session: &Session, stream: &mut Stream) {
        let _ = (session, stream);
    }

    /// Called when bytes or the end have arrived; see [`Session::serve`] (upstream: `OnData`). An
    /// error closes the stream.
    fn arrived(&self, session: &Session, stream: &mut Stream) -> Result<(), StreamError>;

    /// Called when the peer has closed the stream, and all of its bytes were released (upstream:
    /// `OnRemoteClose`).
    fn closed_by_peer(&self, session: &Session, stream: &mut Stream) {
        let _ = (session, stream);
    }

    /// Called when the stream with this number is closed on this side (upstream: `OnLocalClose`).
    fn closed(&self, session: &Session, stream: u32) {
        let _ = (session, stream);
    }

    /// Called when the session is over (upstream: `OnShutdown`).
    fn ended(&self, session: &Session, end: &SessionEnd) {
        let _ = (session, end);
    }
}

/// Callbacks of serving, by a [`Handler`] or by a closure.
pub(crate) trait Calls {
    fn opened(&mut self, _session: &Session, _stream: &mut Stream) {}
    fn arrived(&mut self, session: &Session, stream: &mut Stream) -> Result<(), StreamError>;
    fn closed_by_peer(&mut self, _session: &Session, _stream: &mut Stream) {}
    fn closed(&mut self, _session: &Session, _stream: u32) {}
}

pub(crate) struct ByHandler<'a, H>(pub(crate) &'a H);

impl<H: Handler> Calls for ByHandler<'_, H> {
    fn opened(&mut self, session: &Session, stream: &mut Stream) {
        self.0.opened(session, stream);
    }

    fn arrived(&mut self, session: &Session, stream: &mut Stream) -> Result<(), StreamError> {
        self.0.arrived(session, stream)
    }

    fn closed_by_peer(&mut self, session: &Session, stream: &mut Stream) {
        self.0.closed_by_peer(session, stream);
    }

    fn closed(&mut self, session: &Session, stream: u32) {
        self.0.closed(session, stream);
    }
}

pub(crate) struct ByClosure<F>(pub(crate) F);

impl<F: FnMut(&mut Stream) -> Result<(), StreamError>> Calls for ByClosure<F> {
    fn arrived(&mut self, _: &Session, stream: &mut Stream) -> Result<(), StreamError> {
        (self.0)(stream)
    }
}
