# RAID 5 over three, all members. By mdadm, in the lab.
cargo xtask lab --out "$(dirname "$1")" ../lab/runs/md-images.sh md-raid5
