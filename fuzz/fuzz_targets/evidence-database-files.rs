#![no_main]
straddle_fuzz::reader!("database-files");
