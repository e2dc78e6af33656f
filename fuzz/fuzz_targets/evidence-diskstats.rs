#![no_main]
straddle_fuzz::reader!("diskstats");
