#![no_main]
straddle_fuzz::reader!("postgresql-checkpoints");
