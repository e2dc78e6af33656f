# A 4Kn disk in a VHDX of 512-byte sectors, the only ones that qemu-img makes: the table is for others than the disk shows.
sh -eu ./gpt-4096.sh "$1.raw"
qemu-img convert -O vhdx "$1.raw" "$1"
rm "$1.raw"
