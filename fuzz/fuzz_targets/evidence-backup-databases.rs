#![no_main]
straddle_fuzz::reader!("backup-databases");
