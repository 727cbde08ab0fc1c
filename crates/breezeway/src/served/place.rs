//! How a session that one thread serves becomes one that threads share.

use std::sync::Arc;
use std::time::Duration;

use breezeway_os::{Peer, Waiting, clock};
use breezeway_proto::connection::StreamTerms;
use breezeway_proto::throttle::Throttle;

use crate::channel::{Driving, ServerChannel};
use crate::handshake::Agreed;
use crate::link::Link;
use crate::presence::SessionId;
use crate::worker::Inbox;

/// The part of a session that stays the same when threads begin to share it.
pub(crate) struct Terms {
    pub(crate) id: SessionId,
    pub(crate) peer: Peer,
    /// The most calls that the client may have in flight.
    pub(super) max_in_flight: usize,
    pub(super) service: u16,
    /// True while a go-away entry may be sent: the client takes it, and none was sent.
    pub(super) may_say_go_away: bool,
    pub(super) waiting: Waiting,
    /// How long a reply waits for memory; `None` for the default.
    pub(super) reply_timeout: Option<Duration>,
    /// The worker that serves the session; `None` where a thread serves it alone.
    pub(super) worker: Option<Arc<Inbox>>,
}

impl Terms {
    /// Returns the time since the present turn of the session's worker began.
    pub(crate) fn turn_age(&self) -> Option<Duration> {
        let ticks = self.worker.as_ref()?.load().turn_age(clock::ticks())?;
        Some(Duration::from_nanos(clock::nanoseconds(ticks)))
    }

    fn driving(&self) -> Driving {
        if self.worker.is_some() { Driving::Elsewhere } else { Driving::ByCallers }
    }
}

/// The place of a session's link.
#[allow(clippy::large_enum_variant, reason = "one per session, and the large one is the fast one")]
pub(crate) enum Place {
    /// With the thread that serves it. Each call is replied to before the next one is taken.
    Alone(Link),
    /// Behind a lock, as a reply comes later. Empty once its server drives the shared session.
    Shared(Option<ServerChannel>),
}

const ALONE: &str = "a session is served alone until it is shared";

impl Place {
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Shared(_))
    }

    #[inline(always)]
    pub(crate) fn link(&self) -> &Link {
        match self {
            Self::Alone(link) => link,
            Self::Shared(_) => unreachable!("{ALONE}"),
        }
    }

    #[inline(always)]
    pub(crate) fn link_mut(&mut self) -> &mut Link {
        match self {
            Self::Alone(link) => link,
            Self::Shared(_) => unreachable!("{ALONE}"),
        }
    }

    /// Moves the link behind a lock.
    #[cold]
    pub(crate) fn share(&mut self, terms: &Terms) -> ServerChannel {
        let Self::Alone(link) = std::mem::replace(self, Self::Shared(None)) else {
            unreachable!("{ALONE}")
        };
        let agreed = Agreed {
            cap: link.cap() as u64,
            max_in_flight: terms.max_in_flight,
            streams: [StreamTerms::NONE; 2],
            max_metadata: [0; 2],
            service: terms.service,
            knows_go_away: terms.may_say_go_away,
            // A reply is never held back.
            throttle: Throttle::new(usize::MAX),
            link,
        };
        let (id, peer, driving) = (terms.id, terms.peer.clone(), terms.driving());
        let mut channel = ServerChannel::known_as(id, agreed, peer, terms.waiting, driving);
        if let Some(timeout) = terms.reply_timeout {
            channel = channel.reply_timeout(timeout);
        }
        let channel = channel.in_order();
        *self = Self::Shared(Some(channel.clone()));
        channel
    }

    /// Takes the shared session, to drive it.
    pub(crate) fn take_shared(&mut self) -> Option<ServerChannel> {
        match self {
            Self::Alone(_) => None,
            Self::Shared(channel) => channel.take(),
        }
    }
}
