//! Every service of the corpus as a trait, a server and a client that block, and the same awaited.

#[allow(dead_code, reason = "that it compiles is most of the test")]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/services.rs"));
}

use breezeway_rpc::{Context, Error, Server};
use generated::clashes::{Clashes, ClashesClient, ClashesServer};

struct Numbers;

impl Clashes for Numbers {
    fn get_user(&self, _: &Context, user_id: i32, user_id_2: i32) -> Result<i32, Error> {
        Ok(user_id - user_id_2)
    }

    fn get_user_2(&self, _: &Context) -> Result<i32, Error> {
        Ok(2)
    }

    fn get_user_3(&self, _: &Context) -> Result<i32, Error> {
        Ok(3)
    }
}

#[test]
fn methods_of_one_name_in_rust_stay_distinct_on_the_wire() {
    let folder = tempfile::tempdir().unwrap();
    let place = format!("shm:{}/clashes.sock", folder.path().display());
    let server = Server::bind(&place).unwrap().add_service(ClashesServer(Numbers)).unwrap();
    let stopper = server.stopper();
    let serving = std::thread::spawn(move || server.serve());
    let client = ClashesClient::new(breezeway::Client::connect(&place).unwrap());
    assert_eq!(client.get_user(5, 4).unwrap(), 1);
    assert_eq!(client.get_user_2().unwrap(), 2);
    assert_eq!(client.get_user_3().unwrap(), 3);
    drop(client);
    stopper.stop();
    serving.join().unwrap().unwrap();
}
