#![no_main]
straddle_fuzz::captured!("kernel-log");
