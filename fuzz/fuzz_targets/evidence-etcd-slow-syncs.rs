#![no_main]
straddle_fuzz::reader!("etcd-slow-syncs");
