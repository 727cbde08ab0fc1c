//! `cargo run -p breezeway --example key_value [ADDRESS]`: a key-value store that many threads call
//! over one session. Errors have codes of the service's own.

use std::collections::HashMap;
use std::sync::Mutex;
use std::thread;

use breezeway::{Address, Call, CallError, ErrorCode, Handled, Server, Session};

const PUT: u32 = 1;
const GET: u32 = 2;
const NO_SUCH_KEY: ErrorCode = ErrorCode::Application(1);
const BAD_REQUEST: ErrorCode = ErrorCode::Application(2);

type Store = Mutex<HashMap<Vec<u8>, Vec<u8>>>;

fn serve(store: &Store, call: Call<'_>) -> Handled {
    let request = call.request().to_vec();
    let mut entries = store.lock().expect("no thread panics with the lock");
    match call.method() {
        PUT => match request.split_first() {
            // The key's length, the key, the value.
            Some((&len, rest)) if rest.len() >= len.into() => {
                let (key, value) = rest.split_at(len.into());
                entries.insert(key.to_vec(), value.to_vec());
                call.done()
            }
            _ => call.fail(BAD_REQUEST, "the key is longer than the request"),
        },
        GET => match entries.get(&request) {
            Some(value) => call.reply(value),
            None => call.fail(NO_SUCH_KEY, "no such key"),
        },
        _ => call.no_such_method(),
    }
}

fn main() -> Result<(), breezeway::Report> {
    let address: Address = std::env::args().nth(1).unwrap_or("shm:/tmp/kv.sock".into()).parse()?;
    let server = Server::bind(&address)?;
    let (address, stopper) = (server.address(), server.stopper());
    let store = Store::default();
    let serving = thread::spawn(move || server.serve(move |call: Call<'_>| serve(&store, call)));
    let session = &Session::connect(&address)?;
    thread::scope(|scope| {
        for entry in [b"\x03oneuno", b"\x03twodos", b"\x03sixsei"] {
            scope.spawn(move || session.call(PUT, entry).unwrap());
        }
    });
    for key in ["one", "two", "six", "ten"] {
        match session.call(GET, key.as_bytes()) {
            Ok(value) => println!("{key}: {}", String::from_utf8(value.to_vec())?),
            Err(CallError::Failed { code: NO_SUCH_KEY, reason, .. }) => println!("{key}: {reason}"),
            Err(error) => return Err(error.into()),
        }
    }
    stopper.stop();
    Ok(serving.join().expect("the server panicked")?)
}
