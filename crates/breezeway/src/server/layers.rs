//! Layers around a server's handler: its limit, its timer and its span.

use breezeway_proto::ErrorCode;

use crate::call::{Call, Handled, Handler};
use crate::call_limit::CallLimit;
use crate::handler_timer::HandlerTimer;
#[cfg(feature = "spans")]
use crate::spans::{CallOf, CallSpan};

/// A server's handler, which calls beyond the limit do not reach. (One-way messages do: their
/// senders could receive no refusal.)
pub(crate) struct Limited<H>(pub(crate) H, pub(crate) CallLimit);

impl<H: Handler> Handler for Limited<H> {
    #[inline(always)]
    fn handle(&self, call: Call<'_>) -> Handled {
        if !call.is_one_way()
            && let Some(reason) = self.1.refusal()
        {
            return call.fail(ErrorCode::Overloaded, &reason);
        }
        self.0.handle(call)
    }
}

/// A server's handler, timed.
pub(crate) struct Timed<H>(pub(crate) H);

impl<H: Handler> Handler for Timed<H> {
    #[inline(always)]
    fn handle(&self, call: Call<'_>) -> Handled {
        let timer = HandlerTimer::start(|| call.handler_times());
        let handled = self.0.handle(call);
        timer.end();
        handled
    }
}

/// A server's handler with a span for each call.
#[cfg(feature = "spans")]
pub(crate) struct Spanned<H>(pub(crate) H);

#[cfg(feature = "spans")]
impl<H: Handler> Handler for Spanned<H> {
    fn handle(&self, call: Call<'_>) -> Handled {
        let of = || CallOf { carrier: call.carrier(), times: call.handler_times() };
        CallSpan::of_server(call.method(), of).of(|| self.0.handle(call))
    }
}
