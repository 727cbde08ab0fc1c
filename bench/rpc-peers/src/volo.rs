//! Volo's service and client, and ours beside them.

use std::cell::RefCell;
use std::os::unix::net::SocketAddr;
use std::path::Path;

use ::volo::FastStr;
use ::volo::net::Address;
use anyhow::{Result, ensure};
use breezeway::ExclusiveSession;
use breezeway_rpc::{AsyncServer, AsyncThriftClient};
use breezeway_tokio::Session;
use breezeway_volo::{CallOver, VoloService, methods};
use volo_thrift::ServerError;

use crate::ours::{self, AsyncEchoClient, EchoClient};
use crate::servers::Served;
use crate::table::{Pairs, at};
use crate::{load, ours::rows};

/// Output of volo-build 0.12.3 for `idl/echo.thrift`. It is kept, as volo-build compiles libgit2.
#[path = "volo_gen.rs"]
#[allow(warnings, unreachable_pub, missing_docs, unsafe_code, reason = "generated")]
#[allow(clippy::undocumented_unsafe_blocks, reason = "generated")]
#[rustfmt::skip]
mod generated;
use generated::volo_gen::echo;

/// Number of times that each pair is measured, one directly after the other.
const ROUNDS: usize = 21;

/// Returns its arguments.
struct Mirror;

impl echo::Echo for Mirror {
    async fn five(&self, five: echo::Five) -> Result<echo::Five, ServerError> {
        Ok(five)
    }

    async fn rows(&self, rows: Vec<echo::Row>) -> Result<Vec<echo::Row>, ServerError> {
        Ok(rows)
    }
}

fn address(path: &str) -> Result<Address> {
    Ok(Address::Unix(SocketAddr::from_pathname(Path::new(path))?))
}

pub(crate) async fn serve(path: &str) -> Result<()> {
    let address = address(path)?;
    println!("ready");
    let served = echo::EchoServer::new(Mirror).run(address).await;
    served.map_err(|error| anyhow::anyhow!("{error}"))
}

/// Serves the same over sessions.
pub(crate) async fn serve_over_session(address: &str) -> Result<()> {
    let echo = echo::EchoServer::from_handler(Mirror);
    let echo = VoloService::<_, echo::EchoRequestRecv>::new(echo, methods!(Echo: five, rows))?;
    let server = AsyncServer::bind(address)?.add_service(echo)?;
    println!("ready");
    Ok(server.serve().await?)
}

/// A client with all that its builder gives by default, but for the time-out.
macro_rules! client {
    ($path:expr) => {
        echo::EchoClientBuilder::new("Echo").address(address($path)?).rpc_timeout(None).build()
    };
}

fn five() -> echo::Five {
    echo::Five { id: 1, count: 2, price: 3.0, open: true, changed: 5 }
}

fn volos(rows: &[ours::Row]) -> Vec<echo::Row> {
    let row = |row: &ours::Row| echo::Row {
        id: row.id,
        name: FastStr::new(&row.name),
        street: FastStr::new(&row.street),
        count: row.count,
        price: row.price,
        open: row.open,
    };
    rows.iter().map(row).collect()
}

/// The sockets of a run.
struct Places {
    folder: tempfile::TempDir,
}

impl Places {
    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Ours, at a `shm:` and a `unix:` address.
    fn ours(&self) -> String {
        format!("shm:{},unix:{}", self.path("shm"), self.path("unix"))
    }

    /// Returns the address of ours with handlers that get views, a `shm:` address.
    fn in_place(&self) -> String {
        format!("shm:{}", self.path("in-place"))
    }

    /// Returns the address of Volo's service over sessions.
    fn volo_over_shm(&self) -> String {
        format!("shm:{}", self.path("volo-over-shm"))
    }

    fn start(&self) -> Result<[Served; 4]> {
        let servers = [
            Served::start("volo-over-shm", &self.volo_over_shm())?,
            Served::start("ours", &self.ours())?,
            Served::start("ours-in-place", &self.in_place())?,
            Served::start("volo", &self.path("volo"))?,
        ];
        // Volo's announces that it is ready before it listens.
        while std::os::unix::net::UnixStream::connect(self.path("volo")).is_err() {
            std::thread::yield_now();
        }
        Ok(servers)
    }
}

/// One figure of both, in turn; which is first changes.
macro_rules! pairs {
    ($name:expr, $unit:expr, $load:expr, $ours:expr, $theirs:expr) => {{
        let mut pairs = Pairs::default();
        for round in 0..ROUNDS {
            if round % 2 == 0 {
                let ours = $load($ours).await?;
                pairs.add(ours, $load($theirs).await?);
            } else {
                let theirs = $load($theirs).await?;
                pairs.add($load($ours).await?, theirs);
            }
        }
        pairs.print($name, $unit);
    }};
}

pub(crate) async fn beside() -> Result<()> {
    let places = Places { folder: tempfile::tempdir()? };
    let _servers = places.start()?;
    let (shm, unix) = (places.path("shm"), places.path("unix"));
    let shm = AsyncEchoClient::new(Session::connect(format!("shm:{shm}")).await?);
    let native = AsyncEchoClient::new(Session::connect(format!("unix:{unix}")).await?);
    let volo_path = places.path("volo");
    let to_volo =
        AsyncEchoClient::new(AsyncThriftClient::new(format!("unix:{volo_path}").parse()?));
    let volo = client!(&volo_path);
    let from_volo = client!(&unix);
    let session = Session::connect(places.volo_over_shm()).await?;
    let over_shm = echo::EchoClientBuilder::new("Echo").call_over(session).build();

    let session = ExclusiveSession::connect(&places.in_place())?;
    let in_place = EchoClient::new(RefCell::new(session));

    let list = rows();
    let volo_list = volos(&list);
    let volo_five = async || {
        ensure!(volo.five(five()).await?.id == 1, "another struct");
        Ok(())
    };
    let volo_given = async |rows: Vec<echo::Row>| {
        let count = rows.len();
        ensure!(volo.rows(rows).await?.len() == count, "another list");
        Ok(())
    };
    let volo_rows = async || volo_given(volo_list.clone()).await;
    let over_shm_five = async || {
        ensure!(over_shm.five(five()).await?.id == 1, "another struct");
        Ok(())
    };
    let over_shm_rows = async || {
        ensure!(over_shm.rows(volo_list.clone()).await?.len() == list.len(), "another list");
        Ok(())
    };
    let from_volo_five = async || {
        ensure!(from_volo.five(five()).await?.id == 1, "another struct");
        Ok(())
    };
    let bytes: usize = breezeway_rpc::thrift::to_vec(&list[0])?.len() * list.len();
    println!("a list of {bytes} bytes; {ROUNDS} pairs; the ratio is its time over ours");
    println!("{:<44} {:>10} {:>10}        ratio: median, quartiles", "", "ours", "Volo's");
    let shm_five = async || ours::call_five(&shm).await;
    let unix_five = async || ours::call_five(&native).await;
    let shm_rows = async || ours::call_rows(&shm, list.clone()).await;
    let unix_rows = async || ours::call_rows(&native, list.clone()).await;
    let in_place_rows = async || ours::call_rows_blocking(&in_place, list.clone());
    let own = (|| list.clone(), async |rows| ours::call_rows(&shm, rows).await);
    let theirs = (|| volo_list.clone(), volo_given);
    let to_volo_five = async || ours::call_five(&to_volo).await;
    pairs!("five fields, shm beside Volo on unix", "µs p50", load::one, &shm_five, &volo_five);
    pairs!("five fields, unix beside Volo on unix", "µs p50", load::one, &unix_five, &volo_five);
    pairs!("64 callers, shm beside Volo on unix", "µs/c", load::many, &shm_five, &volo_five);
    pairs!("64 callers, unix beside Volo on unix", "µs/c", load::many, &unix_five, &volo_five);
    pairs!("list, shm beside Volo on unix", "µs p50", load::one, &shm_rows, &volo_rows);
    pairs!("list made before, shm beside Volo on unix", "µs p50", load::prepared, &own, &theirs);
    pairs!(
        "list in place, shm beside Volo on unix",
        "µs p50",
        load::one,
        &in_place_rows,
        &volo_rows
    );
    pairs!("list, unix beside Volo on unix", "µs p50", load::one, &unix_rows, &volo_rows);
    pairs!("our client, theirs, of Volo's server", "µs p50", load::one, &to_volo_five, &volo_five);
    pairs!(
        "our server, theirs, of Volo's client",
        "µs p50",
        load::one,
        &from_volo_five,
        &volo_five
    );
    pairs!("five fields, Volo over shm, on unix", "µs p50", load::one, &over_shm_five, &volo_five);
    pairs!("64 callers, Volo over shm, on unix", "µs/c", load::many, &over_shm_five, &volo_five);
    pairs!("list, Volo over shm, on unix", "µs p50", load::one, &over_shm_rows, &volo_rows);
    Ok(())
}

/// Makes calls at a rate at which no call waits for another.
pub(crate) async fn beside_paced() -> Result<()> {
    let places = Places { folder: tempfile::tempdir()? };
    let _servers = places.start()?;
    let shm = places.path("shm");
    let shm = AsyncEchoClient::new(Session::connect(format!("shm:{shm}")).await?);
    let volo = client!(&places.path("volo"));
    let ours = async || ours::call_five(&shm).await;
    let volo_five = async || {
        ensure!(volo.five(five()).await?.id == 1, "another struct");
        Ok(())
    };
    println!("{:<44} {:>10} {:>10}        ratio: median, quartiles", "", "ours", "Volo's");
    for (rate, count, rounds) in [(1.0, 5, 3), (100.0, 200, 5), (10_000.0, 2_000, 5)] {
        let (mut halves, mut tails) = (Pairs::default(), Pairs::default());
        for _ in 0..rounds {
            let own = load::paced(&ours, rate, count).await?;
            let theirs = load::paced(&volo_five, rate, count).await?;
            halves.add(at(&own, 0.5), at(&theirs, 0.5));
            tails.add(at(&own, 0.99), at(&theirs, 0.99));
        }
        halves.print(&format!("{rate} calls/s, {count} in each of {rounds} rounds"), "µs p50");
        tails.print("", "µs p99");
    }
    Ok(())
}
