# A mirror whose members begin their data at 1 and at 2 MiB. By mdadm, in the lab.
cargo xtask lab --out "$(dirname "$1")" ../lab/runs/md-images.sh md-offsets
