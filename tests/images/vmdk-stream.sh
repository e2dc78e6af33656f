# A disk as an OVA carries it.
sh -eu ./gpt-2048.sh "$1.raw"
qemu-img convert -O vmdk -o subformat=streamOptimized "$1.raw" "$1"
rm "$1.raw"
