# Partition tables, boot sectors, signatures and copies of disks: the commands of the rules' pages on image files.

# holds FILE BYTE HEX: these bytes are there.
holds() { [ "$(od -An -v -tx1 -j "$2" -N $((${#3} / 2)) "$1" | tr -d ' \n')" = "$3" ]; }
# first FILE: where the first partition starts.
first() { sfdisk --json "$1" | tr -d ' \n' | sed 's/.*"partitions":\[{[^}]*"start":\([0-9]*\).*/\1/'; }

truncate -s 64M disk
parted -s disk mklabel gpt
parted -s -a minimal disk mkpart data 1MiB 100%
[ "$(first disk)" = 2048 ]
# What the page warns of.
truncate -s 64M other
parted -s other mklabel gpt
parted -s -a minimal other mkpart data 0% 100% 2> /dev/null
[ "$(first other)" = 34 ]

sgdisk -n 1:2048:+8M -n 2:0:+8M hybrid -o > /dev/null 2>&1 || { truncate -s 64M hybrid; sgdisk -n 1:2048:+8M -n 2:0:+8M hybrid > /dev/null; }
sgdisk -h 1:EE hybrid > /dev/null
holds hybrid 450 83
printf 'x\nn\nw\ny\n' | gdisk hybrid > /dev/null
# One entry, of type EE, from sector 1 on; the GPT is whole.
holds hybrid 450 ee
holds hybrid 454 01000000
holds hybrid 466 00
sgdisk --verify hybrid | says 'No problems found'
sgdisk --backup=saved hybrid > /dev/null
[ -s saved ]
sfdisk --dump hybrid | says 'hybrid2 : start='

truncate -s 128M hybrid
not grep -q "No problems found" <(sgdisk --verify hybrid)
sgdisk --move-second-header hybrid > /dev/null
sgdisk --verify hybrid | says 'No problems found'
truncate -s 192M hybrid
sgdisk -e hybrid > /dev/null
sgdisk --verify hybrid | says 'No problems found'
before=$(sgdisk -p hybrid | grep GUID)
sgdisk -G hybrid > /dev/null
[ "$before" != "$(sgdisk -p hybrid | grep GUID)" ]

# A volume that was made at sector 63, and moved to 2,048.
truncate -s 40M partition
mkfs.fat -F 32 -h 63 partition > /dev/null
holds partition 28 3f000000
printf '\0\010\0\0' | dd of=partition bs=1 seek=28 conv=notrunc status=none
holds partition 28 00080000
minfo -i partition :: | says 'hidden sectors: 2048'
fsck.fat -n partition > /dev/null || [ $? = 1 ]
mkntfs -q -F -p 63 -H 16 -S 63 partition > /dev/null
holds partition 28 3f000000
printf '\0\010\0\0' | dd of=partition bs=1 seek=28 conv=notrunc status=none
ntfsinfo -m partition > /dev/null

# Of two signatures one is erased, and saved.
truncate -s 32M both
mkfs.ext4 -q both
printf 'XFSB' | dd of=both conv=notrunc status=none
wipefs --no-act --all --types ext4 both > /dev/null
blkid -p -n ext4 both > /dev/null
HOME=$PWD wipefs --all --types ext4 --backup both > /dev/null
not blkid -p -n ext4 both > /dev/null
holds both 0 58465342
ls wipefs-both-*.bak > /dev/null

ddrescue -q disk copy map
cmp disk copy
truncate -s 1000001 image
truncate --size=%4096 image
[ "$(stat -c %s image)" = 1003520 ]
fallocate -l 1M file
[ "$(stat -c '%s %b' file)" = '1048576 2048' ]
