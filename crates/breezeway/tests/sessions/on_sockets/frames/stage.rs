//! An honest server under attack.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{JoinHandle, ThreadId};

use breezeway::{
    Address, Call, Carrier, ExclusiveSession, HandlerError, Replied, ServeError, ServerOptions,
    SessionOptions, Stopper, WaitPolicy,
};
use breezeway_adversary::Connection;
use breezeway_adversary::journal;
use breezeway_adversary::native::frame::greet;

use super::{CAP, LARGE_CAP, METHOD, SOCKETS};
use crate::support::content::message;
use crate::support::{self, Folder, PATIENCE, eventually, raw, within};

/// An honest server in this process, so that it is heard why it ends sessions, with an honest
/// client that must not notice.
pub(crate) struct Stage {
    address: Address,
    stopper: Stopper,
    server: Option<JoinHandle<Result<(), ServeError>>>,
    /// The thread that serves.
    pub(crate) worker: ThreadId,
    laps: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    bystander: Option<JoinHandle<()>>,
    _folder: Folder,
}

impl Stage {
    pub(crate) fn set(carrier: Carrier, policy: WaitPolicy) -> Self {
        journal::keep();
        let folder = Folder::on(carrier);
        let address = folder.address();
        let session =
            SessionOptions::new().wait(policy).cap(CAP as u64).handshake_timeout(PATIENCE);
        let options = ServerOptions::new().session(session);
        let server = breezeway::Server::bind_with(&address, options).unwrap();
        let stopper = server.stopper();
        let worker = Arc::new(OnceLock::new());
        let serving = Arc::clone(&worker);
        let server = std::thread::spawn(move || {
            server.serve(move |call: Call<'_>| -> Result<Replied, HandlerError> {
                serving.get_or_init(|| std::thread::current().id());
                call.echo()
            })
        });
        let (laps, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let bystander = std::thread::spawn({
            let (laps, stop, address) = (Arc::clone(&laps), Arc::clone(&stop), address.clone());
            let options = support::patient().wait(WaitPolicy::Park);
            move || {
                let mut session = ExclusiveSession::connect_with(&address, &options).unwrap();
                while !stop.load(Ordering::Relaxed) {
                    let number = laps.load(Ordering::Relaxed);
                    for len in [0, 100, 5000, 70_000] {
                        let request = message(number, len);
                        assert!(session.call(METHOD, request).unwrap().to_vec() == request);
                    }
                    laps.fetch_add(1, Ordering::Relaxed);
                    // Its own rounds must not take the CPU from what is tested.
                    std::thread::park_timeout(std::time::Duration::from_millis(2));
                }
            }
        });
        eventually("the honest client is served", || laps.load(Ordering::Relaxed) > 0);
        let worker = *worker.get().expect("a call was served");
        Self {
            address,
            stopper,
            server: Some(server),
            worker,
            laps,
            stop,
            bystander: Some(bystander),
            _folder: folder,
        }
    }

    /// A client by hand that has its session.
    pub(crate) fn peer(&self) -> Connection {
        let mut peer = raw::connect(&self.address);
        greet(&mut peer, LARGE_CAP);
        peer
    }

    /// Waits until the server logs, since `from`, the end of a session, and returns the reason.
    #[track_caller]
    pub(crate) fn end_of_session(&self, from: usize) -> String {
        journal::wait_for(self.worker, from, PATIENCE, |line| line.message == "session ended")
            .expect("a session ends")
            .error
    }

    /// The honest client is served as before.
    #[track_caller]
    pub(crate) fn goes_on(&self) {
        let seen = self.laps.load(Ordering::Relaxed);
        eventually("the honest client goes on", || self.laps.load(Ordering::Relaxed) > seen + 1);
    }

    /// Ends the server: no thread has panicked, and the honest client was served to the end.
    pub(crate) fn close(mut self) {
        self.goes_on();
        self.stop.store(true, Ordering::Relaxed);
        self.bystander.take().unwrap().join().expect("the honest client failed");
        self.stopper.stop();
        let server = self.server.take().unwrap();
        within(PATIENCE, "the server's end", move || server.join().expect("a panic")).unwrap();
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.stopper.stop();
    }
}

/// Each on both kinds of socket.
pub(crate) fn on_each_stage(policy: WaitPolicy, act: impl Fn(&Stage)) {
    for carrier in SOCKETS {
        let stage = Stage::set(carrier, policy);
        act(&stage);
        stage.close();
    }
}
