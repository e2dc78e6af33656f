# The same 4Kn disk in a VHDX of 4,096-byte sectors. No tool outside of Windows makes one, so the two sizes are overwritten:
# they have no checksum, and the table of a disk below 32 GiB looks the same for both.
sh -eu ./vhdx-moved.sh "$1"
for at in 0x310020 0x310024; do
    printf '\0\020\0\0' | dd of="$1" bs=1 seek=$((at)) conv=notrunc
done
