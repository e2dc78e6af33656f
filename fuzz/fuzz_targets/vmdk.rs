#![no_main]
straddle_fuzz::container!("vmdk");
