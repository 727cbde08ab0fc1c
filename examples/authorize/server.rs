//! A server that restricts its callers: the file's mode and a policy on connecting, credentials on
//! each call. Call it with `sync-client`, as yourself and as another user. Users are uids.
#![forbid(unsafe_code)]

use std::collections::HashSet;

use breezeway::{Call, Peer, Server, ServerOptions};

fn main() -> Result<(), breezeway::Report> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or("shm:/tmp/hello.sock".to_owned());
    let users = arguments.map(|uid| uid.parse()).collect::<Result<HashSet<u32>, _>>()?;
    let options = ServerOptions::new()
        // The first gate is the kernel's: users that may write to the socket file may connect. The
        // default, 0o600, admits the server's own user only.
        .socket_mode(0o666)
        // The second is ours. A client that is refused sees the reason.
        .authorize(move |peer: &Peer| match peer.uid {
            // Users whom this namespace does not map, and clients over TCP, have no uid: they are
            // no one.
            None => Err("who you are cannot be seen from here".to_owned()),
            Some(uid) if users.contains(&uid) => Ok(()),
            Some(uid) => Err(format!("user {uid} is not on the list")),
        });
    let server = Server::bind_with(address, options)?;
    println!("listening on {}", server.address());
    server.serve(|call: Call<'_>| {
        // A handler sees the same credentials, to decide method by method.
        let greeting = match call.peer().is_same_user() {
            true => "hello, myself".to_owned(),
            false => format!("hello, user {:?}", call.peer().uid),
        };
        call.reply(greeting.as_bytes())
    })?;
    Ok(())
}
