//! Breezeway's service and clients.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use breezeway_rpc::{AsyncStreamChannel, Channel, Context, Error, ThriftClient, Written};

#[allow(dead_code, unreachable_pub, missing_docs, reason = "generated")]
mod thrift {
    include!(concat!(env!("OUT_DIR"), "/thrift.rs"));
}
pub(crate) use thrift::echo::*;

use crate::table::at;

/// Returns its arguments.
pub(crate) struct Mirror;

impl AsyncEcho for Mirror {
    async fn five(&self, _: &Context, five: Five) -> Result<Five, Error> {
        Ok(five)
    }

    async fn rows(&self, _: &Context, rows: Vec<Row>) -> Result<Vec<Row>, Error> {
        Ok(rows)
    }
}

impl Echo for Mirror {
    fn five(&self, _: &Context, five: Five) -> Result<Five, Error> {
        Ok(five)
    }

    fn rows(&self, _: &Context, rows: Vec<Row>) -> Result<Vec<Row>, Error> {
        Ok(rows)
    }
}

impl InPlaceEcho for Mirror {
    fn five(
        &self,
        _: &Context,
        asked: EchoFiveArgsView,
        reply: EchoFiveReplySpace<'_>,
    ) -> Result<Written, Error> {
        let five = asked.five;
        reply.write(|to| {
            to.success(|to| {
                let to = to.id(five.id).count(five.count).price(five.price);
                to.open(five.open).changed(five.changed)
            })
        })
    }

    fn rows(
        &self,
        _: &Context,
        asked: EchoRowsArgsView<'_>,
        reply: EchoRowsReplySpace<'_>,
    ) -> Result<Written, Error> {
        reply.write(|to| {
            to.success(asked.rows, |to, row| {
                let to = to.id(row.id).name(row.name).street(row.street);
                to.count(row.count).price(row.price).open(row.open)
            })
        })
    }
}

pub(crate) fn five() -> Five {
    Five { id: 1, count: 2, price: 3.0, open: true, changed: 5 }
}

/// About 14 KB.
pub(crate) fn rows() -> Vec<Row> {
    let row = |number: i64| Row {
        id: number,
        name: format!("customer number {number:>16}"),
        street: format!("{number:>5} Long Street, near the river, behind the old harbour"),
        count: 7,
        price: 9.5,
        open: true,
    };
    (0..100).map(row).collect()
}

/// A call of five fields.
pub(crate) async fn call_five<C: AsyncStreamChannel>(client: &AsyncEchoClient<C>) -> Result<()> {
    ensure!(client.five(five()).await?.id == 1, "another struct");
    Ok(())
}

/// A call of a list.
pub(crate) async fn call_rows<C: AsyncStreamChannel>(
    client: &AsyncEchoClient<C>,
    rows: Vec<Row>,
) -> Result<()> {
    let count = rows.len();
    ensure!(client.rows(rows).await?.len() == count, "another list");
    Ok(())
}

/// Calls like [`call_rows`], with a client that blocks.
pub(crate) fn call_rows_blocking<C: Channel>(client: &EchoClient<C>, rows: Vec<Row>) -> Result<()> {
    let count = rows.len();
    ensure!(client.rows(rows)?.len() == count, "another list");
    Ok(())
}

/// A client that awaits calls a session's server for a while: prints the median of a call in µs.
pub(crate) fn call_awaited(address: &str, millis: u64) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let channel = breezeway_tokio::Session::connect(address).await?;
        let client = AsyncEchoClient::new(channel);
        let mut times = Vec::new();
        for time in [millis / 5, millis].map(Duration::from_millis) {
            times.clear();
            let begun = Instant::now();
            while begun.elapsed() < time {
                let sent = Instant::now();
                call_five(&client).await?;
                times.push(sent.elapsed().as_secs_f64() * 1e6);
            }
        }
        println!("{}", at(&times, 0.5));
        Ok(())
    })
}

/// A client that blocks calls a Thrift server for a while: prints the median of a call in µs.
pub(crate) fn call(address: &str, millis: u64) -> Result<()> {
    let client = EchoClient::new(ThriftClient::new(address.parse()?));
    let mut times = Vec::new();
    for time in [millis / 5, millis].map(Duration::from_millis) {
        times.clear();
        let begun = Instant::now();
        while begun.elapsed() < time {
            let sent = Instant::now();
            ensure!(client.five(five())?.id == 1, "another struct");
            times.push(sent.elapsed().as_secs_f64() * 1e6);
        }
    }
    println!("{}", at(&times, 0.5));
    Ok(())
}
