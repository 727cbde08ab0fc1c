//! Sessions that live for one call.

use breezeway::ExclusiveSession;

use super::content::Content;
use super::methods::ECHO;
use super::{Load, Measurement, closed_loop};
use crate::Failure;

/// Connects with `connect`, makes one call, compares its reply and closes, again and again; the
/// latency is that of all of it. The first ones warm the process up, uncounted.
///
/// # Errors
///
/// The first error of a session, or a reply that differs from its request.
pub fn on_fresh_sessions(
    load: &Load,
    mut connect: impl FnMut() -> Result<ExclusiveSession, Failure>,
) -> Result<Measurement, Failure> {
    let mut content = Content::new(load.size);
    closed_loop(load.extent, |round| {
        let mut session = connect()?;
        let reply = session.call(ECHO, content.request(round))?;
        content.check(reply.bytes(), round)
    })
}
