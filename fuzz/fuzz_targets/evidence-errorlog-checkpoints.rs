#![no_main]
straddle_fuzz::reader!("errorlog-checkpoints");
