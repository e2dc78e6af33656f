#![no_main]
straddle_fuzz::reader!("get-counter");
