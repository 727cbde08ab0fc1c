//! `cargo run -p breezeway --example mio_loop [ADDRESS]`: a session in an event loop of mio, which
//! watches the session's socket, and has a waker that requests a turn. The example `event_loop`
//! does the same with epoll alone.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread;
use std::time::Duration;

use breezeway::{Address, Call, Driver, Next, Server, Session, SessionOptions};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};

const ECHO: u32 = 0;
const SESSION: Token = Token(0);
const NOTIFY: Token = Token(1);

/// Asks the loop for a turn.
struct Notify(mio::Waker);

impl Wake for Notify {
    fn wake(self: Arc<Self>) {
        // Without the wake-up a thread could wait for ever, so a failure ends the program.
        self.0.wake().expect("the loop is woken");
    }
}

fn run(mut driver: Driver) -> io::Result<()> {
    let mut poll = Poll::new()?;
    let waker = Waker::from(Arc::new(Notify(mio::Waker::new(poll.registry(), NOTIFY)?)));
    let socket = driver.as_fd().as_raw_fd();
    let interest = Interest::READABLE | Interest::WRITABLE;
    poll.registry().register(&mut SourceFd(&socket), SESSION, interest)?;
    let mut events = Events::with_capacity(8);
    loop {
        match driver.advance(&waker) {
            Next::Turn => continue,
            Next::End => return poll.registry().deregister(&mut SourceFd(&socket)),
            Next::Pause => thread::sleep(Duration::from_millis(10)),
            Next::Sleep { at_most, .. } => match poll.poll(&mut events, at_most) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {
                    for event in events.iter().filter(|event| event.token() == SESSION) {
                        driver.ready(event.is_read_closed());
                    }
                }
            },
        }
    }
}

fn main() -> Result<(), breezeway::Report> {
    let address: Address = std::env::args().nth(1).unwrap_or("shm:/tmp/mio.sock".into()).parse()?;
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
