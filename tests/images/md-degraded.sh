# RAID 5 over three of which one was never there. By mdadm, in the lab.
cargo xtask lab --out "$(dirname "$1")" ../lab/runs/md-images.sh md-degraded
