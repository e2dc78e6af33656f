# Firmware RAID, Intel: members made by tests/makers/firmware-raid.pl (`firmware` and `firmware_seed`: seeds/ddf.sh). The MPB's
# first sector is the last but one; disks stand from byte 0xd8 of it on, volumes behind them.
imsm() { firmware 'set imsm' 'disk a size=64' 'disk b size=64' 'disk c size=64' 'disk d size=64' "$@"; }
imsm 'volume v level=5 strip=8 used=16 disks=a,b,c' 'volume w level=0 strip=2 used=8 start=16 disks=c,a,b,d'; firmware_seed imsm raid5-raid0 a b c d
firmware_seed imsm one-member b
imsm 'volume v level=1 strip=8 used=16 disks=d,c,b,a dirty=1' 'volume m level=1 strip=8 used=16 start=17 disks=a,b state=2'; firmware_seed imsm raid10-raid1 a b c d
imsm 'volume v level=5 strip=8 used=16 disks=a,b,c migrate=3 was=0:4:a,b'; firmware_seed imsm migrating a b c
imsm 'volume v level=5 strip=8 used=16 disks=a,b,c migrate=1 was-state=2 stale=1'; firmware_seed imsm rebuilding a b c
firmware 'set imsm sector=4096' 'disk a size=16' 'disk b size=16' 'volume v level=0 strip=2 used=4 disks=b,a'; firmware_seed imsm sectors-4096 a b
firmware 'set imsm' 'disk a size=64 generation=4' 'disk b size=64' 'volume v level=0 strip=2 used=4 disks=b,a'; firmware_seed imsm generations a b
imsm 'volume v level=0 strip=8 used=18446744073709551615 start=18446744073709551615 size=18446744073709551615 disks=a,b'; firmware_seed imsm places-2p64 a b
small() { firmware 'set imsm' 'disk a size=64' 'disk b size=64' 'volume v level=5 strip=8 used=16 disks=a,b' "$@"; firmware_seed imsm "$name" a b; }
# One sector from byte -1024 on: lengths and counts in the header, then those of the volume, which stands at 0xd8 + 2 × 48.
for size in 00000000 ffffffff 00000100 20000000 01020000; do name=mpb-size-$size; small "put a $((36 - 1024)) $size"; done
name=disks-255; small "put a $((56 - 1024)) ff"
name=volumes-255; small "put a $((57 - 1024)) ff"
name=members-255; small "put a $((0xd8 + 96 + 112 + 16 - 1024)) ff"
name=members-0; small "put a $((0xd8 + 96 + 112 + 16 - 1024)) 00"
name=strip-0; small "put a $((0xd8 + 96 + 112 + 12 - 1024)) 0000"
name=second-map-missing; small "put a $((0xd8 + 96 + 88 - 1024)) 01"
name=level-7; small "put a $((0xd8 + 96 + 112 + 15 - 1024)) 07"
name=no-such-disk; small "put a $((0xd8 + 96 + 160 - 1024)) ffffff00ffffffff"
