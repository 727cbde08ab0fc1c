#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| breezeway_fuzz::kitex::run(data));
