#![no_main]
straddle_fuzz::captured!("xfs-info");
