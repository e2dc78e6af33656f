#![no_main]
straddle_fuzz::reader!("innodb-status");
