# An overlay and its base, both with clusters of 64 KiB.
cd "$(dirname "$1")"
name=$(basename "$1" .img)
qemu-img create -f qcow2 "$name.base" 8M
qemu-io -f qcow2 -c 'write -P 1 1M 1M' "$name.base"
qemu-img create -f qcow2 -b "$name.base" -F qcow2 "$name.img"
qemu-io -f qcow2 -c 'write -P 2 1M 128k' "$name.img"
