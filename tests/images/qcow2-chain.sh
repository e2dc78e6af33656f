# Four files behind each other, each with something of its own; the base is a raw disk.
cd "$(dirname "$1")"
name=$(basename "$1" .img)
truncate -s 8M "$name.base"
qemu-img create -f qcow2 -b "$name.base" -F raw "$name.monday"
qemu-io -f qcow2 -c 'write -P 1 1M 1M' "$name.monday"
qemu-img create -f qcow2 -b "$name.monday" -F qcow2 "$name.tuesday"
qemu-io -f qcow2 -c 'write -P 2 1M 256k' "$name.tuesday"
qemu-img create -f qcow2 -b "$name.tuesday" -F qcow2 "$name.img"
qemu-io -f qcow2 -c 'write -P 3 2M 64k' "$name.img"
