#![no_main]
straddle_fuzz::captured!("get-disk");
