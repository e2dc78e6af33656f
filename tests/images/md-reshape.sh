# RAID 5 on its way from three members to four. By mdadm, in the lab.
cargo xtask lab --out "$(dirname "$1")" ../lab/runs/md-images.sh md-reshape
