#![no_main]
straddle_fuzz::container!("qcow2");
