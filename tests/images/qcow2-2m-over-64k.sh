# An overlay with clusters of 2 MiB over a base with clusters of 64 KiB.
cd "$(dirname "$1")"
name=$(basename "$1" .img)
qemu-img create -f qcow2 "$name.base" 8M
qemu-io -f qcow2 -c 'write -P 1 1M 1M' "$name.base"
qemu-img create -f qcow2 -o cluster_size=2M -b "$name.base" -F qcow2 "$name.img"
