//! Trusted peers.

use breezeway_os::Peer;

use super::OptionError;

/// Peers that a server or client trusts with memory that both write.
///
/// shmipc has no protection between its two sides: a peer that breaks the rules can make this side
/// see wrong bytes, run out of slices, or lose the session. It cannot make this process crash or
/// touch memory outside the session's regions. This setting restricts the peers that may connect at
/// all.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trust {
    /// Processes of the same user id, and of root. Needs a unix socket.
    SameUser,
    /// Processes of these user ids. Needs a unix socket.
    Users(Vec<u32>),
    /// Any process that can open the socket. The only possibility over TCP.
    AnyUser,
}

impl Trust {
    /// Returns true if a peer with these credentials is trusted; without credentials only with
    /// [`Self::AnyUser`].
    pub fn covers(&self, peer: Option<&Peer>) -> bool {
        match self {
            Self::AnyUser => true,
            Self::SameUser => peer.is_some_and(|peer| peer.is_same_user() || peer.uid == Some(0)),
            Self::Users(users) => {
                peer.and_then(|peer| peer.uid).is_some_and(|uid| users.contains(&uid))
            }
        }
    }

    /// Fails unless all peers are trusted: over TCP the peer's user is unknown.
    pub(crate) fn validate_over_tcp(&self) -> Result<(), OptionError> {
        let allowed = "possible over TCP, where users are unknown: AnyUser is";
        OptionError::check_that(*self == Self::AnyUser, "trust", format_args!("{self:?}"), allowed)
    }
}
