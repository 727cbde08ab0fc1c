//! The service of `users.thrift`, whose answers `docs/vectors/README.md` gives, for callers of
//! other languages.

use std::io::{Read, stdin};

use breezeway::Address;
use breezeway_rpc::thrift::ExceptionKind;
use breezeway_rpc::{
    AsyncServer, AsyncService, BusinessError, Call, Context, Error, Method, Service,
};

mod generated {
    #![allow(dead_code, reason = "other programs use the rest")]
    include!("../../../crates/breezeway-rpc/tests/golden/users.rs");
}
use generated::users::{
    NoSuchUser, Users, UsersAgeArgs, UsersAgeError, UsersSeenArgs, UsersServer,
};

use crate::room::{AsyncRoomServer, GivenUp, Hall};

struct Table;

impl Users for Table {
    fn age(&self, cx: &Context, name: String) -> Result<i64, UsersAgeError> {
        let years = cx.metadata("years").and_then(|years| str::from_utf8(years).ok());
        let more: i64 = years.and_then(|years| years.parse().ok()).unwrap_or_default();
        if cx.metadata("born").is_some() {
            cx.set_reply_metadata("born", "1815");
        }
        match &*name {
            "Ada" => Ok(36 + more),
            "infant" => Err(Error::from(BusinessError::new(7, "too young")).into()),
            "nobody" => Err(Error::new(ExceptionKind(77), "no such table").into()),
            "broken" => Err(Error::Protocol("the table is broken".to_owned()).into()),
            "panic" => panic!("of this handler"),
            _ => Err(NoSuchUser { name }.into()),
        }
    }

    fn seen(&self, _: &Context, name: String) {
        println!("{name}");
    }
}

/// The service, awaited. It prints the names of oneway calls, and "given up" when a client no
/// longer waits for the age of "slow".
struct Awaited;

impl AsyncService for Awaited {
    fn name(&self) -> &'static str {
        UsersServer(Table).name()
    }

    fn methods(&self) -> &'static [Method] {
        UsersServer(Table).methods()
    }

    async fn dispatch(
        &self,
        method: usize,
        cx: &Context,
        call: &mut Call<'_>,
    ) -> Result<(), Error> {
        if method == 0 {
            let UsersAgeArgs { name } = call.arguments()?;
            if name == "slow" {
                let _given_up = GivenUp;
                println!("slow");
                std::future::pending::<()>().await;
            }
            return call.reply::<UsersAgeArgs>(Table.age(cx, name));
        }
        let UsersSeenArgs { name } = call.arguments()?;
        Table.seen(cx, name);
        Ok(())
    }
}

/// Serves both services until standard input ends.
pub(crate) fn serve(address: &Address) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        crate::traces::export();
        let server = AsyncServer::bind(address).expect("the address is free");
        let server = server.with_thrift_clients().add_service(Awaited).expect("no numbers collide");
        let server = server.add_service(AsyncRoomServer(Hall)).expect("no numbers collide");
        let stopper = server.stopper();
        println!("listening");
        std::thread::spawn(move || {
            let _ = stdin().read_to_end(&mut Vec::new());
            stopper.stop();
        });
        server.serve().await.expect("it serves");
    });
}
