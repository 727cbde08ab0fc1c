//! Services that return the arguments of their calls.

use breezeway_rpc::fuzzing::Dispatch;
use breezeway_rpc::{Context, Replies, Requests};

mod room {
    include!("../../../crates/breezeway-rpc/tests/golden/room.rs");
}
mod users {
    include!("../../../crates/breezeway-rpc/tests/golden/users.rs");
}

pub(crate) use room::room::RoomSayArgs;
use room::room::{
    Heard, Line, Room, RoomListenError, RoomSayError, RoomServer, RoomTalkError, RoomTellError,
};
use users::users::{NoSuchUser, Users, UsersAgeError, UsersServer};

struct Echoes;

/// Dispatcher of calls only: its streams are served elsewhere.
impl Room for Echoes {
    fn listen(&self, _: &Context, _: Line, _: Replies<'_, Line>) -> Result<(), RoomListenError> {
        unreachable!("a stream was dispatched as a call")
    }

    fn tell(&self, _: &Context, _: Requests<'_, Line>) -> Result<Heard, RoomTellError> {
        unreachable!("a stream was dispatched as a call")
    }

    fn talk(
        &self,
        _: &Context,
        _: Requests<'_, Line>,
        _: Replies<'_, Line>,
    ) -> Result<(), RoomTalkError> {
        unreachable!("a stream was dispatched as a call")
    }

    fn say(&self, cx: &Context, line: Line) -> Result<Line, RoomSayError> {
        if let Some(value) = cx.metadata("key") {
            cx.set_reply_metadata("key", value);
        }
        Ok(line)
    }
}

struct Table;

impl Users for Table {
    fn age(&self, _: &Context, name: String) -> Result<i64, UsersAgeError> {
        if name == "Ada" { Ok(36) } else { Err(NoSuchUser { name }.into()) }
    }

    fn seen(&self, _: &Context, _: String) {}
}

/// Both services.
pub(crate) fn dispatch() -> Dispatch {
    Dispatch::default().add_service(RoomServer(Echoes)).add_service(UsersServer(Table))
}
