#![no_main]
straddle_fuzz::volume!("lvm2");
