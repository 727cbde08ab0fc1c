//! Three instances, each a process, one over shared memory and two over TCP, in network namespaces
//! of their own where that may be had: killed, frozen and started again under load. Only calls fail
//! that were in flight on one that was killed, or were sent to one that was frozen, and those end
//! at their deadline.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use breezeway::{Address, CallError, Carrier};
use breezeway_rpc::governance::{CallRequest, RetryPolicy, ServiceChannel};
use breezeway_rpc::instances::{Instance, InstanceOptions, Instances, Watched};
use breezeway_rpc::{AsyncServer, CallOptions, Error, Route};
use rustix::process::Signal;
use tempfile::TempDir;
use tokio::sync::mpsc::unbounded_channel;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tower::ServiceBuilder;

use crate::namespaces::{self, Elsewhere};
use crate::processes::{Process, say};
use crate::shop::{AsyncShopClient, AsyncShopServer, Corner};

/// Timeout of a call, far longer than any answered call takes.
const DEADLINE: Duration = Duration::from_secs(4);
/// Time limit for events that must come.
const PATIENCE: Duration = Duration::from_secs(60);
/// Number of callers with calls that may not be repeated, and with calls that may.
const CALLERS: (usize, usize) = (6, 2);
/// The most calls that fail for an instance that freezes: those in flight, and two more.
const MOST_LOST: usize = CALLERS.0 + CALLERS.1 + 2;

const HERE: usize = 0;
const NAMES: [&str; 3] = ["here", "one", "two"];

/// The role: serves until it is killed, Thrift clients too.
pub(crate) fn serve(address: &Address) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (tell, _looks) = unbounded_channel();
        let server = AsyncServer::bind(address).unwrap().with_thrift_clients();
        let server = server.add_service(AsyncShopServer(Corner::new(tell))).unwrap();
        say(server.address());
        server.serve().await.unwrap();
    });
}

/// Time at which an instance did not answer, and the reason.
#[derive(Debug)]
struct Down {
    instance: usize,
    frozen: bool,
    from: Instant,
    until: Option<Instant>,
}

/// A call that failed.
#[derive(Debug)]
struct Failed {
    instance: usize,
    from: Instant,
    until: Instant,
    error: Error,
}

/// Events seen by the callers.
#[derive(Default)]
struct Seen {
    /// The last calls that were answered, by instance: when they began, and by what they went.
    answered: Mutex<HashMap<usize, (Instant, Carrier)>>,
    failed: Mutex<Vec<Failed>>,
    over: AtomicBool,
}

struct Cluster {
    folder: TempDir,
    elsewhere: Elsewhere,
    processes: Vec<Process>,
    set: watch::Sender<Vec<Instance>>,
    instances: Instances,
    down: Vec<Down>,
    seen: Arc<Seen>,
    callers: Vec<JoinHandle<usize>>,
}

fn instance(folder: &Path, elsewhere: Elsewhere, index: usize) -> (Process, Instance) {
    if index != HERE {
        let (process, address) = elsewhere.start("shop", index);
        return (process, Instance::new(NAMES[index], address));
    }
    let place = format!("shm:{}/here.sock", folder.display()).parse().unwrap();
    let mut process = Process::start("shop", &place);
    let address = process.hear().parse().unwrap();
    (process, Instance::here(NAMES[HERE], address).unwrap())
}

impl Cluster {
    /// With calls that may be made twice, which may take so long.
    fn start(elsewhere: Elsewhere, longest: Duration) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let start = |index| instance(folder.path(), elsewhere, index);
        let (processes, set) = (0..3).map(start).unzip();
        let (set, sets) = watch::channel(set);
        let options = InstanceOptions::new().wait(PATIENCE);
        let instances = Instances::new(Watched::new(sets), options);
        let (down, seen, callers) = (Vec::new(), Arc::default(), Vec::new());
        let mut cluster =
            Self { folder, elsewhere, processes, set, instances, down, seen, callers };
        for _ in 0..CALLERS.0 {
            let caller = call_once(cluster.instances.clone(), Arc::clone(&cluster.seen));
            cluster.callers.push(tokio::spawn(caller));
        }
        for _ in 0..CALLERS.1 {
            let seen = Arc::clone(&cluster.seen);
            let caller = call_again(cluster.instances.clone(), seen, longest);
            cluster.callers.push(tokio::spawn(caller));
        }
        cluster
    }

    fn went_down(&mut self, instance: usize, frozen: bool) {
        self.down.push(Down { instance, frozen, from: Instant::now(), until: None });
    }

    fn came_up(&mut self, instance: usize) {
        let mut mine = self.down.iter_mut().filter(|down| down.instance == instance);
        mine.next_back().unwrap().until = Some(Instant::now());
    }

    fn kill(&mut self, instance: usize) {
        self.went_down(instance, false);
        self.processes[instance].kill();
    }

    /// Starts one again that was killed. Over TCP it is at another port then.
    fn start_again(&mut self, index: usize) {
        let (process, instance) = instance(self.folder.path(), self.elsewhere, index);
        self.processes[index] = process;
        self.set.send_modify(|set| set[index] = instance);
        self.came_up(index);
    }

    fn freeze(&mut self, instance: usize) {
        self.went_down(instance, true);
        self.processes[instance].signal(Signal::STOP);
    }

    fn go_on(&mut self, instance: usize) {
        self.processes[instance].signal(Signal::CONT);
        self.came_up(instance);
    }

    /// Waits until an instance has answered a call that began after now. Gives how long that took.
    async fn until_answered_by(&self, instance: usize) -> Duration {
        let from = Instant::now();
        loop {
            let answered = self.seen.answered.lock().unwrap().get(&instance).copied();
            if let Some((began, carrier)) = answered.filter(|(began, _)| *began >= from) {
                let expected = if instance == HERE { Carrier::Shm } else { Carrier::Tcp };
                assert_eq!(carrier, expected);
                return began - from;
            }
            assert!(from.elapsed() < PATIENCE, "{} answers no more", NAMES[instance]);
            sleep(Duration::from_millis(2)).await;
        }
    }

    /// Ends the load and judges every failure.
    async fn end(self) {
        self.seen.over.store(true, Ordering::Relaxed);
        let mut calls = 0;
        for caller in self.callers {
            calls += caller.await.unwrap();
        }
        let failed = self.seen.failed.lock().unwrap();
        let mut lost = vec![0; self.down.len()];
        for call in &*failed {
            let why = self.down.iter().position(|down| {
                down.instance == call.instance
                    && down.from <= call.until
                    && down.until.is_none_or(|until| call.from <= until)
            });
            let why = why.unwrap_or_else(|| panic!("{call:?} failed, and {:?}", self.down));
            lost[why] += 1;
            if self.down[why].frozen {
                assert!(matches!(call.error, Error::Call(CallError::DeadlinePassed)), "{call:?}");
                assert!(call.until - call.from >= DEADLINE, "{call:?}");
            }
        }
        println!("{calls} calls, {} failed, for each that went down {lost:?}", failed.len());
        assert!(lost.iter().all(|lost| *lost <= MOST_LOST), "{lost:?}");
    }
}

/// Between calls, so that the load is some and not all of the machine.
const PAUSE: Duration = Duration::from_millis(1);

/// Calls that are made once, each noted.
async fn call_once(instances: Instances, seen: Arc<Seen>) -> usize {
    let shop = AsyncShopClient::new(ServiceChannel::new(instances));
    let mut calls = 0;
    while !seen.over.load(Ordering::Relaxed) {
        let route = Route::new();
        let options = CallOptions::new().timeout(DEADLINE).receive_route(&route);
        let from = Instant::now();
        let outcome = shop.with(options).echo("once".to_owned()).await;
        let until = Instant::now();
        let name = route.instance();
        let instance = NAMES.iter().position(|known| Some(*known) == name.as_deref());
        match (outcome, instance, route.carrier()) {
            (Ok(_), Some(instance), Some(carrier)) => {
                let mut answered = seen.answered.lock().unwrap();
                let last = answered.entry(instance).or_insert((from, carrier));
                *last = (from.max(last.0), carrier);
            }
            (Err(error), Some(instance), _) => {
                seen.failed.lock().unwrap().push(Failed { instance, from, until, error });
            }
            (outcome, ..) => panic!("{outcome:?} came from {route:?}"),
        }
        calls += 1;
        sleep(PAUSE).await;
    }
    calls
}

/// Makes calls that may be repeated; each must succeed within the time of its attempts.
async fn call_again(instances: Instances, seen: Arc<Seen>, longest: Duration) -> usize {
    let service = ServiceBuilder::new()
        .timeout(longest)
        .retry(RetryPolicy::new(12))
        .map_request(|request: CallRequest| request.within(DEADLINE))
        .service(instances);
    let shop = AsyncShopClient::new(ServiceChannel::new(service));
    let mut calls = 0;
    while !seen.over.load(Ordering::Relaxed) {
        let options = CallOptions::new().idempotent();
        shop.with(options).echo("again".to_owned()).await.unwrap();
        calls += 1;
        sleep(PAUSE).await;
    }
    calls
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_and_frozen_instances_fail_only_calls_in_flight() {
    let mut cluster = Cluster::start(Elsewhere::Loopback, PATIENCE);
    cluster.until_answered_by(HERE).await;
    cluster.freeze(HERE);
    cluster.until_answered_by(1).await;
    cluster.until_answered_by(2).await;
    cluster.kill(1);
    cluster.until_answered_by(2).await;
    cluster.start_again(1);
    cluster.until_answered_by(1).await;
    cluster.freeze(2);
    cluster.until_answered_by(1).await;
    cluster.go_on(2);
    cluster.until_answered_by(2).await;
    cluster.go_on(HERE);
    cluster.until_answered_by(HERE).await;
    cluster.kill(HERE);
    cluster.until_answered_by(1).await;
    cluster.start_again(HERE);
    cluster.until_answered_by(HERE).await;
    cluster.end().await;
}

#[test]
#[ignore = "a minute: make failover"]
fn minute_of_failover_fails_only_calls_in_flight() {
    let own = "minute_of_failover_fails_only_calls_in_flight";
    let Some(elsewhere) = namespaces::enter(&format!("failover::{own}")) else { return };
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(come_and_go(elsewhere, Duration::from_secs(60)));
}

async fn come_and_go(elsewhere: Elsewhere, time: Duration) {
    use std::hash::{BuildHasher, RandomState};

    println!("two of three instances are elsewhere: {elsewhere:?}");
    let mut cluster = Cluster::start(elsewhere, 3 * DEADLINE);
    cluster.until_answered_by(HERE).await;
    let began = Instant::now();
    let mut returns = Vec::new();
    while began.elapsed() < time {
        let random = RandomState::new().hash_one(0);
        let (victim, frozen) = (random as usize % 3, random >> 8 & 1 == 1);
        let time = Duration::from_millis(random >> 16 & 0x7ff);
        if frozen {
            cluster.freeze(victim);
            // Those that were sent there end at their deadline.
            sleep(DEADLINE + time).await;
            cluster.go_on(victim);
        } else {
            cluster.kill(victim);
            sleep(time).await;
            cluster.start_again(victim);
        }
        let back = cluster.until_answered_by(HERE).await;
        if victim == HERE {
            returns.push(back);
        }
        sleep(time / 4).await;
    }
    println!("calls went by shared memory again after {returns:?}");
    cluster.end().await;
}
