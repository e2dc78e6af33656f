# The disk of vmdk-stream as one to run from.
sh -eu ./gpt-2048.sh "$1.raw"
qemu-img convert -O vmdk -o subformat=monolithicSparse "$1.raw" "$1"
rm "$1.raw"
