//! Prints how long breezeway-thrift and other codecs take for the three shapes, and the targets.

use breezeway_thrift::Encode;
use thrift_peers::contenders::{Case, apache, breezeway, capnp, pilota, prost, rkyv};
use thrift_peers::ours::{Batch, MyTest};
use thrift_peers::{shapes, table};

fn batch_cases(batch: &Batch) -> Vec<Case> {
    let mut cases = Vec::new();
    for add in
        [breezeway::batch, pilota::batch, apache::batch, prost::batch, capnp::batch, rkyv::batch]
    {
        add(batch.clone(), &mut cases);
    }
    cases
}

fn my_test_cases(test: &MyTest) -> Vec<Case> {
    let mut cases = Vec::new();
    for add in [
        breezeway::my_test,
        pilota::my_test,
        apache::my_test,
        prost::my_test,
        capnp::my_test,
        rkyv::my_test,
    ] {
        add(test.clone(), &mut cases);
    }
    cases
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|rounds| rounds.parse().ok()).unwrap_or(100);
    for count in [1, 130] {
        let batch = shapes::batch(count);
        let size = batch.size();
        let rows = table::measure(size, rounds, batch_cases(&batch));
        table::print(&format!("{count} small structs, {size} bytes"), &rows);
    }
    let test = shapes::my_test(131_072);
    let rows = table::measure(test.size(), rounds, my_test_cases(&test));
    table::print(&format!("MyTest, {} bytes", test.size()), &rows);
    let batch = shapes::batch(40_000);
    let rows = table::measure(batch.size(), rounds / 4 + 1, batch_cases(&batch));
    table::print(&format!("40000 small structs, {} bytes", batch.size()), &rows);
}
