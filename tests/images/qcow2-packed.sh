# A disk that is compressed as templates are.
sh -eu ./gpt-2048.sh "$1.raw"
qemu-img convert -c -O qcow2 "$1.raw" "$1"
rm "$1.raw"
