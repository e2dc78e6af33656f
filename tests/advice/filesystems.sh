# Filesystems on image files: what the rules' pages tell mkfs and its like.

# What mkfs.xfs asks for before it makes one below 300 MiB.
export TEST_DIR=/tmp TEST_DEV=/tmp QA_CHECK_FS=1
# xfs FIELD: of the superblock.
xfs() { xfs_db -r -c "sb 0" -c "print $1" image | sed 's/.* = //'; }
ext() { dumpe2fs -h image 2> /dev/null | sed -n "s/^$1: *//p"; }
new() { rm -f image; truncate -s 64M image; }

new; mkfs.xfs -q -s size=4096 -l su=32k image
[ "$(xfs sectsize) $(xfs logsunit)" = '4096 32768' ]
# The log stripe unit is where the page says: big-endian at byte 196.
[ "$(od -An -tx1 -j 196 -N 4 image | tr -d ' ')" = 00008000 ]
new; mkfs.xfs -q -s size=4096 image
[ "$(xfs sectsize)" = 4096 ]
truncate -s 64M copied
xfs_copy image copied > /dev/null
[ "$(xfs_db -r -c 'sb 0' -c 'print sectsize' copied)" = 'sectsize = 4096' ]
new; mkfs.xfs -q -d su=64k,sw=4 image
[ "$(xfs unit) $(xfs width)" = '16 64' ]
new; mkfs.xfs -q -d su=64k,sw=6 image
[ "$(xfs unit) $(xfs width)" = '16 96' ]
new; mkfs.xfs -q -d noalign image
[ "$(xfs unit) $(xfs width)" = '0 0' ]

new; mkfs.ext4 -q -E stride=16,stripe_width=96 image
[ "$(ext 'RAID stride') $(ext 'RAID stripe width')" = '16 96' ]
tune2fs -E stride=32,stripe_width=128 image > /dev/null
[ "$(ext 'RAID stride') $(ext 'RAID stripe width')" = '32 128' ]
new; mkfs.ext4 -q -E stride=16 image
[ "$(ext 'RAID stride')" = 16 ]
new; mkfs.ext4 -q -b 4096 image
[ "$(ext 'Block size')" = 4096 ]
truncate -s 96M image
resize2fs image > /dev/null 2>&1
[ "$(ext 'Block count')" = 24576 ]
resize2fs image 48M > /dev/null 2>&1
[ "$(ext 'Block count')" = 12288 ]
new; mkfs.ext4 -q -G 4096 image
[ "$(ext 'Flex block group size')" = 4096 ]

# fat: sectors before the first cluster.
u16() { od -An -tu2 -j "$1" -N 2 image | tr -d ' '; }
u32() { od -An -tu4 -j "$1" -N 4 image | tr -d ' '; }
rm -f image; truncate -s 512M image
mkfs.fat -F 32 image > /dev/null
[ $((($(u16 14) + 2 * $(u32 36)) % 8)) = 0 ]
mkfs.fat -s 8 image > /dev/null
[ "$(od -An -tu1 -j 13 -N 1 image | tr -d ' ')" = 8 ]
mkfs.exfat -b 1M image > /dev/null
[ $(($(u32 88) * 512 % 1048576)) = 0 ]
new; mkntfs -q -F image > /dev/null 2>&1
truncate -s 96M image
echo y | ntfsresize --force --force image > /dev/null
ntfsinfo -f -m image | says 'Volume Size in Clusters: 24575'
