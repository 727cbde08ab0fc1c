//! Registration with a real etcd, and calls to registered instances.
//!
//! `make etcd` runs these where there are etcd and protoc.

/// Whatever of it a test needs, it starts in a folder of its own at free ports.
mod etcd;
/// A connection to etcd whose answers can be held back.
mod held;
/// A server that registers itself, in a process of its own.
mod process;

mod needs_etcd {
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use breezeway::{Address, Carrier};
    use breezeway_etcd::{Error as RegisterError, Etcd, Lease};
    use breezeway_rpc::governance::CallRequest;
    use breezeway_rpc::instances::{Instance, InstanceOptions, Instances, Resolver};
    use breezeway_rpc::thrift::Streaming;
    use breezeway_rpc::{CallOptions, Error, Method, Route, ThriftFraming};
    use breezeway_tokio::{Server, Stopper};
    use etcd_client::PutOptions;
    use tempfile::TempDir;
    use tokio::task::JoinHandle;
    use tokio::time::{sleep, timeout};
    use tower::{Service, ServiceExt};

    use crate::etcd::Running;
    use crate::held::Held;
    use crate::process::Process;

    /// Time limit of each step.
    const PATIENCE: Duration = Duration::from_secs(30);
    /// The shortest that etcd grants.
    const SHORT: u32 = 2;

    struct Echo {
        address: Address,
        stopper: Stopper,
        serving: JoinHandle<()>,
    }

    impl Echo {
        fn at(folder: &TempDir, name: &str) -> Self {
            let address = format!("shm:{}/{name},tcp:127.0.0.1:0", folder.path().display());
            let server = Server::bind(address).unwrap();
            let (address, stopper) = (server.address(), server.stopper());
            let serving = server.serve(|call| async move { call.echo() });
            let serving = tokio::spawn(async move { serving.await.unwrap() });
            Self { address, stopper, serving }
        }

        async fn end(self) {
            self.stopper.stop();
            self.serving.await.unwrap();
        }
    }

    fn instances(etcd: &Etcd) -> Instances {
        Instances::new(etcd.watch("echo"), InstanceOptions::new().wait(PATIENCE))
    }

    /// Makes a call; returns the instance and the carrier.
    async fn call(instances: &Instances) -> Result<(String, Carrier), Error> {
        let (route, mut instances) = (Route::new(), instances.clone());
        let options = CallOptions::new().timeout(PATIENCE).receive_route(&route);
        let method = Method::new("Echo", "echo", false, Streaming::None);
        let request = CallRequest { method, arguments: vec![0].into(), options };
        instances.ready().await?.call(request).await?;
        Ok((route.instance().unwrap().to_string(), route.carrier().unwrap()))
    }

    /// Calls until it goes there.
    async fn until(instances: &Instances, name: &str, carrier: Carrier) {
        let there = async {
            while call(instances).await.unwrap() != (name.to_owned(), carrier) {
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(PATIENCE, there).await.unwrap_or_else(|_| panic!("no call goes to {name}"));
    }

    /// Waits until exactly these are registered.
    async fn registered(watching: &mut impl Resolver, names: &[&str]) -> Vec<Instance> {
        let there = async {
            loop {
                let set = watching.next().await;
                if set.iter().map(|instance| &**instance.name()).eq(names.iter().copied()) {
                    return set;
                }
            }
        };
        timeout(PATIENCE, there).await.unwrap_or_else(|_| panic!("not {names:?}"))
    }

    #[tokio::test]
    #[ignore = "needs etcd"]
    async fn registered_instances_arrive_with_all_fields() {
        let running = Running::start().await;
        let etcd = running.connect().await;
        let folder = tempfile::tempdir().unwrap();
        let address = format!("shm:{0}/a,unix:{0}/b,tcp:10.0.0.1:7", folder.path().display());
        let whole = Instance::here("one", address.parse().unwrap()).unwrap().with_weight(7);
        let bare = Instance::new("two", "tcp:10.0.0.2:7".parse().unwrap());
        let _one = etcd.register("echo", &whole, Lease::default()).await.unwrap();
        let _two = etcd.register("echo", &bare, Lease::default()).await.unwrap();
        let framed = Instance::new("three", "tcp:10.0.0.3:7".parse().unwrap())
            .with_framing(ThriftFraming::Framed);
        let _three = etcd.register("echo", &framed, Lease::default()).await.unwrap();
        let _other = etcd.register("echo-more", &bare, Lease::default()).await.unwrap();
        let set = registered(&mut etcd.watch("echo"), &["one", "three", "two"]).await;
        assert_eq!(set, [whole, framed, bare]);
    }

    #[tokio::test]
    #[ignore = "needs etcd"]
    async fn local_instance_is_called_over_shm_until_it_deregisters() {
        let running = Running::start().await;
        let etcd = running.connect().await;
        let folder = tempfile::tempdir().unwrap();
        let instances = instances(&etcd);
        let (here, there) = (Echo::at(&folder, "here"), Echo::at(&folder, "there"));
        // It does not publish its host.
        let remote = Instance::new("there", there.address.clone());
        let remote = etcd.register("echo", &remote, Lease::default()).await.unwrap();
        until(&instances, "there", Carrier::Tcp).await;
        let local = Instance::here("here", here.address.clone()).unwrap();
        let local = etcd.register("echo", &local, Lease::default()).await.unwrap();
        until(&instances, "here", Carrier::Shm).await;
        for _ in 0..200 {
            assert_eq!(call(&instances).await.unwrap(), ("here".to_owned(), Carrier::Shm));
        }
        local.deregister().await.unwrap();
        until(&instances, "there", Carrier::Tcp).await;
        for _ in 0..200 {
            assert_eq!(call(&instances).await.unwrap(), ("there".to_owned(), Carrier::Tcp));
        }
        let mut watching = etcd.watch("echo");
        registered(&mut watching, &["there"]).await;
        remote.deregister().await.unwrap();
        registered(&mut watching, &[]).await;
        drop(instances);
        here.end().await;
        there.end().await;
    }

    #[tokio::test]
    #[ignore = "needs etcd"]
    async fn one_that_is_killed_is_gone_when_its_lease_has_ended() {
        let running = Running::start().await;
        let etcd = running.connect().await;
        let mut watching = etcd.watch("echo");
        let folder = tempfile::tempdir().unwrap();
        let mut killed = Process::start("killed", &running.endpoint(), &folder);
        let mut lives = Process::start("lives", &running.endpoint(), &folder);
        registered(&mut watching, &["killed", "lives"]).await;
        let instances = instances(&etcd);
        until(&instances, "killed", Carrier::Shm).await;
        killed.kill();
        registered(&mut watching, &["lives"]).await;
        // No other instance took its place, or that of the one that lives.
        until(&instances, "lives", Carrier::Shm).await;
        lives.kill();
        registered(&mut watching, &[]).await;
    }

    #[tokio::test]
    #[ignore = "needs etcd"]
    async fn call_to_the_only_dead_instance_fails_at_its_timeout() {
        const TIME: Duration = Duration::from_secs(1);
        let running = Running::start().await;
        let etcd = running.connect().await;
        let folder = tempfile::tempdir().unwrap();
        let mut dead = Process::start("dead", &running.endpoint(), &folder);
        let instances = instances(&etcd);
        until(&instances, "dead", Carrier::Shm).await;
        dead.kill();
        // One without a session to it, which cannot be broken by the death.
        let mut instances =
            Instances::new(etcd.watch("echo"), InstanceOptions::new().wait(10 * PATIENCE));
        let options = CallOptions::new().timeout(TIME);
        let method = Method::new("Echo", "echo", false, Streaming::None);
        let request = CallRequest { method, arguments: vec![0].into(), options };
        let calling = async { instances.ready().await?.call(request).await };
        let failed = timeout(PATIENCE, calling).await.expect("the call ends by itself");
        let failed = failed.map(drop).unwrap_err();
        assert!(matches!(failed, Error::NoInstance { waited, .. } if waited == TIME), "{failed}");
    }

    /// Callers that call until `end`; none may fail.
    struct Callers {
        over: Arc<AtomicBool>,
        tasks: Vec<JoinHandle<u32>>,
    }

    impl Callers {
        fn start(instances: &Instances) -> Self {
            let over = Arc::<AtomicBool>::default();
            let caller = || {
                let (instances, over) = (instances.clone(), Arc::clone(&over));
                tokio::spawn(async move {
                    let mut calls = 0;
                    while !over.load(Ordering::Relaxed) {
                        call(&instances).await.unwrap();
                        calls += 1;
                        sleep(Duration::from_millis(1)).await;
                    }
                    calls
                })
            };
            let tasks = (0..4).map(|_| caller()).collect();
            Self { over, tasks }
        }

        async fn end(self) {
            self.over.store(true, Ordering::Relaxed);
            for task in self.tasks {
                assert!(task.await.unwrap() > 0);
            }
        }
    }

    /// Calls while etcd is away for longer than the lease, and comes again.
    async fn etcd_is_away(loses_all: bool) {
        let mut running = Running::start().await;
        let etcd = running.connect().await;
        let folder = tempfile::tempdir().unwrap();
        let (here, there) = (Echo::at(&folder, "here"), Echo::at(&folder, "there"));
        let local = Instance::here("here", here.address.clone()).unwrap();
        let local = etcd.register("echo", &local, Lease::seconds(SHORT)).await.unwrap();
        let instances = instances(&etcd);
        until(&instances, "here", Carrier::Shm).await;
        let callers = Callers::start(&instances);
        running.kill();
        // The outage must be longer than the lease.
        sleep(Duration::from_secs(u64::from(SHORT) * 2)).await;
        if loses_all {
            running.lose_all();
        }
        running.start_again().await;
        let remote = Instance::new("there", there.address.clone());
        let again = async {
            loop {
                match etcd.register("echo", &remote, Lease::seconds(SHORT)).await {
                    Ok(registration) => return registration,
                    Err(_) => sleep(Duration::from_millis(50)).await,
                }
            }
        };
        let remote = timeout(PATIENCE, again).await.expect("etcd answers again");
        registered(&mut etcd.watch("echo"), &["here", "there"]).await;
        // Its lease is one that is kept.
        sleep(Duration::from_secs(u64::from(SHORT) * 2)).await;
        registered(&mut etcd.watch("echo"), &["here", "there"]).await;
        // The client that was there before sees the change.
        local.deregister().await.unwrap();
        until(&instances, "there", Carrier::Tcp).await;
        callers.end().await;
        drop((instances, remote));
        here.end().await;
        there.end().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "needs etcd"]
    async fn no_call_fails_while_etcd_is_started_again() {
        etcd_is_away(false).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "needs etcd"]
    async fn lost_registrations_are_written_again() {
        etcd_is_away(true).await;
    }

    #[tokio::test]
    #[ignore = "needs etcd"]
    async fn invalid_record_is_left_out_until_it_is_valid() {
        let running = Running::start().await;
        let etcd = running.connect().await;
        let mut watching = etcd.watch("echo");
        let mut client = etcd_client::Client::connect([running.endpoint()], None).await.unwrap();
        client.put("breezeway/echo/odd", "tcp:10.0.0.1:7", None).await.unwrap();
        let good = Instance::new("good", "tcp:10.0.0.2:7".parse().unwrap());
        let _good = etcd.register("echo", &good, Lease::default()).await.unwrap();
        registered(&mut watching, &["good"]).await;
        let record = r#"{"address":"tcp:10.0.0.1:7"}"#;
        client.put("breezeway/echo/odd", record, None).await.unwrap();
        registered(&mut watching, &["good", "odd"]).await;
        client.put("breezeway/echo/odd", "{}", None).await.unwrap();
        registered(&mut watching, &["good"]).await;
    }

    #[tokio::test]
    #[ignore = "needs etcd"]
    async fn a_service_without_instances_is_an_empty_set() {
        let running = Running::start().await;
        let etcd = running.connect().await;
        let set = timeout(PATIENCE, etcd.watch("echo").next()).await.expect("a first set");
        assert_eq!(set, []);
    }

    #[tokio::test]
    #[ignore = "needs etcd"]
    async fn a_registration_whose_lease_has_ended_is_deregistered() {
        let running = Running::start().await;
        let etcd = running.connect().await;
        let instance = Instance::new("one", "tcp:10.0.0.1:7".parse().unwrap());
        let registration = etcd.register("echo", &instance, Lease::seconds(30)).await.unwrap();
        let mut client = etcd_client::Client::connect([running.endpoint()], None).await.unwrap();
        for lease in client.leases().await.unwrap().leases() {
            client.lease_revoke(lease.id()).await.unwrap();
        }
        registered(&mut etcd.watch("echo"), &[]).await;
        registration.deregister().await.unwrap();
    }

    #[tokio::test]
    #[ignore = "needs etcd"]
    async fn registration_in_progress_is_deregistered_too() {
        let running = Running::start().await;
        let held = Held::start(&running.endpoint()).await;
        let etcd = Etcd::connect(&[&held.endpoint()]).await.unwrap();
        let instance = Instance::new("one", "tcp:10.0.0.1:7".parse().unwrap());
        let registration = etcd.register("echo", &instance, Lease::seconds(9)).await.unwrap();
        held.hold_once_said("tcp:10.0.0.1:7");
        let mut client = etcd_client::Client::connect([running.endpoint()], None).await.unwrap();
        for lease in client.leases().await.unwrap().leases() {
            client.lease_revoke(lease.id()).await.unwrap();
        }
        // It is registered under a new lease, and only the number has arrived.
        timeout(PATIENCE, held.holds()).await.expect("it registers anew");
        let mut watching = running.connect().await.watch("echo");
        registered(&mut watching, &["one"]).await;
        let mut deregistering = pin!(registration.deregister());
        let early = timeout(Duration::from_millis(50), &mut deregistering).await;
        assert!(early.is_err(), "without an answer: {early:?}");
        held.release();
        deregistering.await.unwrap();
        let left = client.get("breezeway/echo/one", None).await.unwrap();
        assert_eq!(left.count(), 0);
    }

    #[tokio::test]
    #[ignore = "needs etcd"]
    async fn late_write_does_not_take_the_key_from_the_kept_lease() {
        let running = Running::start().await;
        let held = Held::start(&running.endpoint()).await;
        let etcd = Etcd::connect(&[&held.endpoint()]).await.unwrap();
        let instance = Instance::new("one", "tcp:10.0.0.1:7".parse().unwrap());
        let registration = etcd.register("echo", &instance, Lease::seconds(9)).await.unwrap();
        held.hold_once_said("tcp:10.0.0.1:7");
        let mut client = etcd_client::Client::connect([running.endpoint()], None).await.unwrap();
        let first = client.leases().await.unwrap().leases()[0].id();
        client.lease_revoke(first).await.unwrap();
        // It is written under a second lease, without an answer, at an unknown time.
        timeout(PATIENCE, held.holds()).await.expect("it registers anew");
        let key = "breezeway/echo/one";
        let kept = async |client: &mut etcd_client::Client, but: i64| {
            let lease = async {
                loop {
                    let found = client.get(key, None).await.unwrap();
                    match found.kvs().first().map(|found| (found.lease(), found.value().to_vec())) {
                        Some((lease, value)) if lease != but => return (lease, value),
                        _ => sleep(Duration::from_millis(5)).await,
                    }
                }
            };
            timeout(PATIENCE, lease).await.expect("it is there")
        };
        let (second, value) = kept(&mut client, first).await;
        // Its third comes once etcd is known not to have answered.
        sleep(Duration::from_secs(3)).await;
        held.release();
        let (third, _) = kept(&mut client, second).await;
        let under_second = PutOptions::new().with_lease(second);
        let late = client.put(key, value, Some(under_second)).await;
        assert!(late.is_err(), "{late:?}");
        assert_eq!(kept(&mut client, second).await.0, third);
        registration.deregister().await.unwrap();
    }

    #[tokio::test]
    #[ignore = "needs etcd"]
    async fn unreachable_instance_is_not_registered() {
        let running = Running::start().await;
        let etcd = running.connect().await;
        let register = |service, name, address: &str| {
            let (etcd, instance) = (etcd.clone(), Instance::new(name, address.parse().unwrap()));
            async move { etcd.register(service, &instance, Lease::default()).await.map(drop) }
        };
        let unreachable = register("echo", "one", "tcp:0.0.0.0:7").await;
        assert!(matches!(unreachable, Err(RegisterError::Unreachable(_))), "{unreachable:?}");
        for (service, name) in [("echo", "a/b"), ("echo/more", "one"), ("echo", "")] {
            let refused = register(service, name, "tcp:10.0.0.1:7").await;
            assert!(matches!(refused, Err(RegisterError::Name(_))), "{refused:?}");
        }
        registered(&mut etcd.watch("echo"), &[]).await;
    }

    #[tokio::test]
    #[ignore = "needs etcd"]
    async fn failed_registration_is_an_error() {
        let mut running = Running::start().await;
        let etcd = running.connect().await;
        running.kill();
        let instance = Instance::new("one", "tcp:10.0.0.1:7".parse().unwrap());
        assert!(etcd.register("echo", &instance, Lease::seconds(1)).await.is_err());
    }
}

/// Runs as the program of [`process::Process`]; it is not a test.
#[test]
#[ignore = "a role of other tests"]
fn another_process() {
    process::play();
}
