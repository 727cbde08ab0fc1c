//! The shapes under criterion: for each codec alone, with its statistics. Ratios between codecs are
//! better taken from the table that `cargo run` prints, which interleaves them.

use std::time::Duration;

use breezeway_thrift::Encode;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use thrift_peers::contenders::{self, Case};
use thrift_peers::shapes;

fn measure(criterion: &mut Criterion, shape: &str, size: usize, cases: Vec<Case>) {
    let mut group = criterion.benchmark_group(shape);
    group.throughput(Throughput::Bytes(size as u64));
    group.sample_size(20).measurement_time(Duration::from_secs(2));
    for mut case in cases {
        let name = format!("{:?}/{}", case.operation, case.codec);
        group.bench_function(name, |bencher| bencher.iter(&mut case.work));
    }
    group.finish();
}

fn benches(criterion: &mut Criterion) {
    for count in [1, 130, 40_000] {
        let batch = shapes::batch(count);
        measure(criterion, &format!("small-{count}"), batch.size(), contenders::batch(&batch));
    }
    let test = shapes::my_test(131_072);
    measure(criterion, "my-test", test.size(), contenders::my_test(&test));
}

criterion_group!(all, benches);
criterion_main!(all);
