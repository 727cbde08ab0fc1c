//! Servers that stop.

use std::sync::Condvar;
use std::sync::Mutex;

use tokio::sync::Notify;

use super::*;

/// Replies once it is opened, and reports the callers that wait and that have stopped waiting.
#[derive(Clone)]
pub(super) struct Gate {
    asked: UnboundedSender<()>,
    open: Arc<(Mutex<bool>, Condvar, Notify)>,
}

impl Gate {
    pub(super) fn new() -> (Self, UnboundedReceiver<()>) {
        let (asked, told) = unbounded_channel();
        (Self { asked, open: Arc::default() }, told)
    }

    pub(super) fn open(&self) {
        let (open, opened, notify) = &*self.open;
        *open.lock().unwrap() = true;
        opened.notify_all();
        notify.notify_one();
    }
}

/// Reports that its handler is over.
struct Leaves(UnboundedSender<()>);

impl Drop for Leaves {
    fn drop(&mut self) {
        // The test may be over.
        let _ = self.0.send(());
    }
}

impl Health for Gate {
    fn ready(&self, _: &Context) -> Result<bool, Error> {
        self.asked.send(()).unwrap();
        let (open, opened, _) = &*self.open;
        drop(opened.wait_while(open.lock().unwrap(), |open| !*open).unwrap());
        Ok(true)
    }

    fn check(&self, _: &Context, _: i32) -> Result<(), Error> {
        Ok(())
    }
}

impl AsyncHealth for Gate {
    async fn ready(&self, _: &Context) -> Result<bool, Error> {
        self.asked.send(()).unwrap();
        let _leaves = Leaves(self.asked.clone());
        self.open.2.notified().await;
        Ok(true)
    }

    async fn check(&self, _: &Context, _: i32) -> Result<(), Error> {
        Ok(())
    }
}

/// Time that a stopping server gives its clients to read their last replies.
const LAST_REPLIES: Duration = Duration::from_secs(1);

/// Repeats `trying`, which returns its duration and success, until it ends in time. A machine that
/// is too busy for that does not fail the test.
fn in_time(mut trying: impl FnMut() -> (Duration, bool)) {
    for _ in 0..20 {
        let (took, came) = trying();
        if came {
            return;
        }
        assert!(took >= LAST_REPLIES, "cut off after {took:?}");
    }
    panic!("it never took less than {LAST_REPLIES:?}");
}

#[test]
fn stopping_server_answers_read_requests() {
    for gear in GEARS {
        for framing in FRAMINGS {
            in_time(|| stopped_while_asked(gear, framing));
        }
    }
}

fn stopped_while_asked(gear: Gear, framing: ThriftFraming) -> (Duration, bool) {
    let (gate, mut asked) = Gate::new();
    let services = (HealthServer(gate.clone()), AsyncHealthServer(gate.clone()));
    let mut running = Running::of(gear, services.0, services.1);
    let client = Client::connect(&running.address, options()).unwrap();
    let health = HealthClient::new(ThriftClient::over_shmipc(client, framing));
    health.check(1).unwrap();
    let outcome = std::thread::scope(|scope| {
        let call = scope.spawn(|| health.ready());
        asked.blocking_recv().unwrap();
        let stopped = Instant::now();
        running.stopper.stop();
        gate.open();
        let answer = call.join().unwrap();
        (stopped.elapsed(), matches!(answer, Ok(true)))
    });
    running.end();
    let within = CallOptions::new().timeout(Duration::from_millis(50));
    // Whether it was sent depends on who hears of the end first.
    health.with(within).check(1).unwrap_err();
    outcome
}

#[tokio::test]
async fn a_handler_that_does_not_end_is_dropped_when_its_server_stops() {
    let (gate, mut told) = Gate::new();
    let services = (HealthServer(gate.clone()), AsyncHealthServer(gate));
    let mut running = Running::of(Gear::Awaits, services.0, services.1);
    let health = AsyncHealthClient::new(running.awaited(ThriftFraming::TtHeader).await);
    let call = tokio::spawn(async move { health.ready().await });
    let begun = tokio::time::timeout(PATIENCE, told.recv()).await;
    begun.expect("it is begun").unwrap();
    let stopping = tokio::task::spawn_blocking(move || running.end());
    let failed = tokio::time::timeout(PATIENCE, call).await.unwrap().unwrap().unwrap_err();
    assert!(matches!(failed, Error::Io(_)), "{failed}");
    stopping.await.unwrap();
    told.try_recv().expect("it is dropped");
}

#[test]
fn a_client_that_reads_no_reply_does_not_hold_up_its_server() {
    use std::io::Write;
    for gear in GEARS {
        let (mut running, _looks) = Running::shop(gear);
        // Little room, so that replies wait for it.
        let raw = Client::connect(&running.address, options().buffer_size(1 << 20)).unwrap();
        let mut stream = raw.open().unwrap();
        let text = vec![b'x'; 1 << 20];
        let mut call = b"\x80\x01\0\x01\0\0\0\x04echo\0\0\0\x01\x0b\0\x01\0\x10\0\0".to_vec();
        call.extend_from_slice(&text);
        call.push(0);
        stream.set_write_timeout(Some(Duration::from_millis(500)));
        // Until the server reads no more, because its output is not read.
        while stream.write_all(&call).is_ok() {}
        let (tell, told) = std::sync::mpsc::channel();
        let stopping = std::thread::spawn(move || {
            running.end();
            tell.send(()).unwrap();
        });
        told.recv_timeout(PATIENCE).expect("the server stops");
        stopping.join().unwrap();
    }
}

#[test]
fn reply_in_progress_arrives_whole_during_stop() {
    for gear in GEARS {
        in_time(|| stopped_in_a_reply(gear));
    }
}

fn stopped_in_a_reply(gear: Gear) -> (Duration, bool) {
    let (mut running, _looks) = Running::shop(gear);
    // Less room than the reply takes: the rest goes over the socket.
    let client = Client::connect(&running.address, options().buffer_size(1 << 20)).unwrap();
    let shop = ShopClient::new(ThriftClient::over_shmipc(client, ThriftFraming::TtHeader));
    let text = "x".repeat(8 << 20);
    std::thread::scope(|scope| {
        let call = scope.spawn(|| shop.echo(text.clone()));
        // Its handler has run once something comes back.
        let sent =
            |session: &breezeway_shmipc::Session| session.statistics().counters.bytes_sent > 0;
        let asked = Instant::now();
        while !running.served.get().sessions().iter().any(sent) {
            assert!(asked.elapsed() < PATIENCE, "no reply begins");
            std::thread::yield_now();
        }
        let stopped = Instant::now();
        running.end();
        let answer = call.join().unwrap();
        (stopped.elapsed(), answer.is_ok_and(|answer| answer == text))
    })
}
