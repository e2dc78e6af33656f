#![no_main]
straddle_fuzz::reader!("vmstat-disks");
