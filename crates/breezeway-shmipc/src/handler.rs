//! What an application is called for by a session that is served.

use crate::error::{SessionEnd, StreamError};
use crate::session::Session;
use crate::stream::Stream;

/// What a served session calls, in the thread that serves it; upstream's `ListenCallback` and
/// `StreamCallbacks` in one. All but [`Self::arrived`] do nothing unless they are written.
///
/// A call that panics closes its stream, and no other; of that stream nothing is called any more.
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
    /// The session begins.
    fn began(&self, session: &Session) {
        let _ = session;
    }

    /// The peer has opened a stream, of which something has arrived (upstream: `OnNewStream`).
    fn opened(&self, session: &Session, stream: &mut Stream) {
        let _ = (session, stream);
    }

    /// Something has arrived, bytes or the end; see [`Session::serve`] (upstream: `OnData`). An
    /// error closes the stream.
    fn arrived(&self, session: &Session, stream: &mut Stream) -> Result<(), StreamError>;

    /// The peer has closed the stream, and all that it sent was released (upstream:
    /// `OnRemoteClose`).
    fn closed_by_peer(&self, session: &Session, stream: &mut Stream) {
        let _ = (session, stream);
    }

    /// The stream with this number is closed on this side (upstream: `OnLocalClose`).
    fn closed(&self, session: &Session, stream: u32) {
        let _ = (session, stream);
    }

    /// The session is over (upstream: `OnShutdown`).
    fn ended(&self, session: &Session, end: &SessionEnd) {
        let _ = (session, end);
    }
}

/// What serving calls, of a [`Handler`] or of a closure.
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
