//! Generates code of the IDL files with the generators that are crates. The output of other tools
//! is committed.

use std::env;
use std::path::{Path, PathBuf};

use breezeway_idl::model::Order;
use breezeway_idl::{Builder, Error};

/// The IDL of the benchmark.
const BENCH: &str = "idl/bench.thrift";

/// More shapes for it.
const WIDE: &str = "idl/wide.thrift";

/// The IDL of the differential tests.
const SAMPLE: &str = "../../crates/breezeway-idl/tests/corpus/sample.thrift";

fn main() -> Result<(), Error> {
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    println!("cargo::rerun-if-changed={SAMPLE}");
    pilota(BENCH, &out.join("bench_pilota.rs"));
    pilota(WIDE, &out.join("wide_pilota.rs"));
    pilota(SAMPLE, &out.join("sample_pilota.rs"));
    Builder::new().small_strings().file_name("small.rs").compile(&[BENCH, WIDE])?;
    Builder::new().order(Order::FixedFirst).file_name("kitex.rs").compile(&[WIDE])?;
    Builder::new().compile(&[BENCH, WIDE])
}

fn pilota(file: &str, out: &Path) {
    pilota_build::Builder::thrift().ignore_unused(false).compile_with_config(
        vec![pilota_build::IdlService::from_path(PathBuf::from(file))],
        pilota_build::Output::File(out.to_owned()),
    );
}
