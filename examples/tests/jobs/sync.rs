use crate::programs::{Server, addresses, failure, output};

#[test]
fn client_is_greeted_over_every_carrier() {
    let folder = tempfile::tempdir().unwrap();
    for (address, carrier) in addresses(folder.path()) {
        let server = Server::start("sync-server", &[&address]);
        for client in ["sync-client", "sync-deadline"] {
            assert_eq!(output(client, &[&server.address]), format!("hello world, by {carrier}\n"));
        }
    }
}

#[test]
fn list_of_places_works_on_both_sides() {
    let folder = tempfile::tempdir().unwrap();
    let all = addresses(folder.path()).map(|(address, _)| address);
    let server = Server::start("sync-server", &[&all.join(",")]);
    let places: Vec<_> = server.address.split(',').collect();
    // The first that works, in the client's order.
    let last_first = format!("shm:/no/such.sock,{},{}", places[2], places[0]);
    let lists = [&server.address, places[0], places[1], places[2], &last_first];
    for (list, carrier) in lists.into_iter().zip(["shm", "shm", "unix", "tcp", "tcp"]) {
        assert_eq!(output("sync-client", &[list]), format!("hello world, by {carrier}\n"));
    }
}

#[test]
fn missing_server_fails_with_remedy() {
    let folder = tempfile::tempdir().unwrap();
    for (address, _) in addresses(folder.path()).into_iter().take(2) {
        let error = failure("sync-client", &[&address]);
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.starts_with("Error: no server at "), "{error}");
        assert!(error.contains("start the server first"), "{error}");
    }
    let error = failure("sync-client", &["carrier pigeon"]);
    assert!(error.starts_with("Error: 'carrier pigeon' is not an address"), "{error}");
}

#[test]
fn call_that_is_not_answered_passes_the_deadline() {
    let folder = tempfile::tempdir().unwrap();
    let server = breezeway::Server::bind(addresses(folder.path())[0].0.as_str()).unwrap();
    let (address, stopper) = (server.address().to_string(), server.stopper());
    let (calls, kept) = std::sync::mpsc::channel();
    let serving = std::thread::spawn(move || {
        server.serve(move |call: breezeway::Call<'_>| {
            let (call, replied) = call.defer()?;
            calls.send(call)?;
            Ok(replied)
        })
    });
    assert_eq!(output("sync-deadline", &[&address]), "too late\n");
    drop(kept);
    stopper.stop();
    serving.join().unwrap().unwrap();
}

#[test]
fn authorize_serves_listed_users_and_explains_refusal() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("shm:{}/guarded.sock", folder.path().display());
    let uid = rustix::process::geteuid().as_raw();
    {
        let listed = Server::start("authorize-server", &[&address, &uid.to_string()]);
        assert_eq!(output("sync-client", &[&listed.address]), "hello, myself\n");
    }
    let empty = Server::start("authorize-server", &[&address]);
    let reason = failure("sync-client", &[&empty.address]);
    assert!(reason.contains(&format!("user {uid} is not on the list")), "{reason}");
}
