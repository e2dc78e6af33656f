#![no_main]
straddle_fuzz::captured!("esxcli-device-partition");
