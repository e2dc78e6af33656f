#![no_main]
straddle_fuzz::reader!("mysql-file-statistics");
