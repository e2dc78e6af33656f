# NTFS at 1 MiB that was formatted at sector 63: its hidden-sectors field still says so.
truncate -s 16M "$1"
printf 'label: dos\nlabel-id: 0x57524144\nstart=2048, size=28672, type=7\n' | sfdisk --no-reread "$1"
truncate -s 14M "$1.fs"
mkntfs --force --quick --zero-time --sector-size 512 --cluster-size 4096 --partition-start 63 \
    --heads 255 --sectors-per-track 63 "$1.fs"
# The serial number is random: in the boot sector and in its copy at the end.
for sector in 0 28671; do
    printf 'STRADDLE' | dd of="$1.fs" bs=1 seek=$((sector * 512 + 72)) conv=notrunc
done
# The table of capital letters fills 128 KiB that hardly compress, and nothing here reads it.
set -- "$1" $(ntfscluster --quiet --force --inode 10 "$1.fs" | awk '$1 == 0 && NF == 3 { print $2, $3 }')
dd if=/dev/zero of="$1.fs" bs=4096 seek="$2" count="$3" conv=notrunc
dd if="$1.fs" of="$1" bs=1M seek=1 conv=notrunc,sparse
rm "$1.fs"
