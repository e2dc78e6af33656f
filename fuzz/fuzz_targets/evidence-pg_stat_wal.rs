#![no_main]
straddle_fuzz::reader!("pg_stat_wal");
