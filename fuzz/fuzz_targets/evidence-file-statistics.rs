#![no_main]
straddle_fuzz::reader!("file-statistics");
