# A mirror one of whose members was removed, and the other written to after that. By mdadm, in the lab.
cargo xtask lab --out "$(dirname "$1")" ../lab/runs/md-images.sh md-stale
