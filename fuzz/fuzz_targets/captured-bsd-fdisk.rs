#![no_main]
straddle_fuzz::captured!("bsd-fdisk");
