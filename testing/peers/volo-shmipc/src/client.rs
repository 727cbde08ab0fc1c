//! Volo's client. Its messages are the bytes of structs, as its generator's would be.

use std::os::unix::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use volo::client::MkClient;
use volo::net::Address;
use volo::service::Service;
use volo_thrift::Bytes;
use volo_thrift::client::ClientBuilder;

/// Leaves the client of generated code as it is.
struct Bare;

impl<C> MkClient<C> for Bare {
    type Target = C;

    fn mk_client(&self, client: C) -> C {
        client
    }
}

const CALLS: usize = 200;
const TASKS: usize = 8;

pub(super) async fn run(path: &Path) -> Result<()> {
    let address = Address::Shmipc(SocketAddr::from_pathname(path)?.into());
    let client = ClientBuilder::<_, _, _, Bytes, Bytes, _, _, _>::new("Users", Bare);
    let client = client.address(address).rpc_timeout(None).build();
    let calling = (0..TASKS).map(|task| {
        let client = client.clone();
        tokio::spawn(async move {
            for call in 0..CALLS {
                // Names from one slice, used again, to several of the largest.
                let name = if call % 2 == 0 { "Ada".to_owned() } else { unknown(task, call) };
                let mut context = client.make_cx("age", false);
                let reply = client.call(&mut context, request(&name)).await?;
                judge(&name, &reply.context("no reply")?)?;
            }
            anyhow::Ok(())
        })
    });
    for task in calling.collect::<Vec<_>>() {
        task.await??;
    }
    println!("Volo's client: {} calls over shmipc were answered as they should be", TASKS * CALLS);
    Ok(())
}

fn unknown(task: usize, call: usize) -> String {
    let letter = char::from(b'a' + task as u8);
    letter.to_string().repeat(1 + call * call * 10)
}

/// `struct { 1: string name }`
fn request(name: &str) -> Bytes {
    let mut bytes = vec![11, 0, 1];
    bytes.extend((name.len() as u32).to_be_bytes());
    bytes.extend(name.as_bytes());
    bytes.push(0);
    bytes.into()
}

/// `struct { 0: i64 success, 1: struct { 1: string name } missing }`
fn judge(name: &str, reply: &[u8]) -> Result<()> {
    let is_right = match reply {
        [10, 0, 0, age @ .., 0] => name == "Ada" && age == 36i64.to_be_bytes(),
        [12, 0, 1, missing @ .., 0] => name != "Ada" && missing == &request(name)[..],
        other => bail!("neither age nor exception: {:?}", &other[..other.len().min(20)]),
    };
    ensure!(is_right, "another reply to {:?}", &name[..name.len().min(20)]);
    Ok(())
}
