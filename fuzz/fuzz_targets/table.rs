#![no_main]
straddle_fuzz::libfuzzer_sys::fuzz_target!(|data: &[u8]| straddle_fuzz::table::table(data));
