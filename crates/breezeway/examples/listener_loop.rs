//! `cargo run -p breezeway --example listener_loop [ADDRESS]`: an echo server in an event loop of
//! one's own, with all its sessions on one thread. (`Driver::take_exit` is for clients that fork.)

use std::collections::HashMap;
use std::task::Waker;
use std::time::Duration;

use breezeway::{Address, Driver, Incoming, Next, ServerOptions, ServerSession, SessionListener};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

/// Takes a turn and serves what has come; gives what to do next.
fn serve(session: &ServerSession, driver: &mut Driver) -> Next {
    // No other thread uses the session, so no turn is requested by a waker.
    let mut next = driver.advance(Waker::noop());
    while let Some(incoming) = session.try_accept() {
        // A stream that is dropped is reset.
        if let Incoming::Call(call) = incoming {
            let _ = call.echo();
        }
        next = Next::Turn;
    }
    next
}

fn main() -> Result<(), breezeway::Report> {
    let address: Address = std::env::args().nth(1).unwrap_or("shm:/tmp/all.sock".into()).parse()?;
    let mut listener = SessionListener::bind(&address, ServerOptions::new())?;
    println!("listening on {}", listener.address());
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, &listener, EventData::new_u64(0), EventFlags::IN)?;
    let edge = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
    let (mut sessions, mut events) = (HashMap::new(), Vec::with_capacity(64));
    for number in 1.. {
        if let Some((session, driver)) = listener.accept()? {
            epoll::add(&epoll, &driver, EventData::new_u64(number), edge)?;
            sessions.insert(number, (session, driver));
        }
        let mut wait = listener.time_left();
        sessions.retain(|_, (session, driver)| {
            let at_most = match serve(session, driver) {
                Next::End => return false,
                Next::Turn => Some(Duration::ZERO),
                Next::Pause => Some(Duration::from_millis(10)),
                Next::Sleep { at_most, .. } => at_most,
            };
            wait = [wait, at_most].into_iter().flatten().min();
            true
        });
        let wait = wait.and_then(|time| time.try_into().ok());
        epoll::wait(&epoll, spare_capacity(&mut events), wait.as_ref())?;
        for epoll::Event { data, flags } in events.drain(..) {
            if let Some((_, driver)) = sessions.get_mut(&data.u64()) {
                driver.ready(flags.intersects(EventFlags::RDHUP | EventFlags::HUP));
            }
        }
    }
    Ok(())
}
