#![no_main]
straddle_fuzz::container!("vhd");
