//! Many threads call through one client: a pool of sessions that they share.
//!
//! ```text
//! cargo run --example shared_pool
//! ```

use breezeway::{Address, Call, ClientOptions, Pool, Report, Server};

const SQUARE: u32 = 0;
const THREADS: u32 = 8;
const CALLS: u32 = 1000;

fn main() -> Result<(), Report> {
    let folder = std::env::temp_dir().join(format!("breezeway-pool-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    let address = Address::shm(folder.join("square.sock"));
    // The server has a process of its own in earnest; a thread will do here.
    let server = Server::bind(&address)?;
    let stopper = server.stopper();
    let serving = std::thread::spawn(move || server.serve(square));

    // At most four sessions exist at a time; the other threads wait for one to be returned.
    let client = Pool::connect_with(&address, ClientOptions::new().max_sessions(4))?;
    let sum = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..THREADS).map(|_| scope.spawn(|| sum_of_squares(&client))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum::<Result<u64, _>>()
    });
    println!("{THREADS} threads, {CALLS} calls each: the sum is {}", sum?);

    drop(client);
    stopper.stop();
    serving.join().expect("the server panicked")?;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// One thread's work. The reply keeps its session from the pool until it is dropped.
fn sum_of_squares(client: &Pool) -> Result<u64, Report> {
    let mut sum = 0;
    for number in 0..CALLS {
        let reply = client.call(SQUARE, &number.to_le_bytes())?;
        sum += reply.bytes().u64_le_at(0).expect("a short reply");
    }
    Ok(sum)
}

fn square(call: Call<'_>) -> Result<breezeway::Replied, breezeway::HandlerError> {
    let number = u64::from(call.request().u32_le_at(0).ok_or("a short request")?);
    call.reply((number * number).to_le_bytes())
}
