//! `cargo run -p breezeway --example event_loop [ADDRESS]`: a session in an event loop of one's
//! own: epoll watches the session's socket, and an eventfd by which other threads ask for a turn.
//! With any other loop it is the same.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread;

use breezeway::{Address, Call, Driver, Next, Server, Session, SessionOptions};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};

/// Asks the loop for a turn.
struct Notify(OwnedFd);

impl Wake for Notify {
    fn wake(self: Arc<Self>) {
        // Fails only when it is full, and then the loop is woken anyway.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }
}

const ECHO: u32 = 0;

fn run(mut driver: Driver) -> rustix::io::Result<()> {
    let notify = Arc::new(Notify(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?));
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    let edge = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
    epoll::add(&epoll, &driver, EventData::new_u64(0), edge | EventFlags::OUT)?;
    epoll::add(&epoll, &notify.0, EventData::new_u64(1), edge)?;
    let waker = Waker::from(notify);
    let mut events = Vec::with_capacity(8);
    loop {
        match driver.advance(&waker) {
            Next::Turn => continue,
            Next::End => return Ok(()),
            Next::Pause => thread::sleep(std::time::Duration::from_millis(10)),
            Next::Sleep { at_most, .. } => {
                let at_most = at_most.and_then(|time| time.try_into().ok());
                epoll::wait(&epoll, spare_capacity(&mut events), at_most.as_ref())?;
                for epoll::Event { data, flags } in events.drain(..) {
                    if data.u64() == 0 {
                        driver.ready(flags.intersects(EventFlags::RDHUP | EventFlags::HUP));
                    }
                }
            }
        }
    }
}

fn main() -> Result<(), breezeway::Report> {
    let address: Address = std::env::args().nth(1).unwrap_or("shm:/tmp/own.sock".into()).parse()?;
    let server = Server::bind(&address)?;
    let (address, stopper) = (server.address(), server.stopper());
    let serving = thread::spawn(move || server.serve(|call: Call<'_>| call.echo()));
    let (session, driver) = Session::connect_driven(&address, &SessionOptions::new())?;
    let driving = thread::spawn(move || run(driver));
    println!("{}", String::from_utf8(session.call(ECHO, b"driven from outside")?.to_vec())?);
    drop(session);
    driving.join().expect("the loop panicked")?;
    stopper.stop();
    Ok(serving.join().expect("the server panicked")?)
}
