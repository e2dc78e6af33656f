# Three dynamic disks, a RAID-5 volume.
. ./ldm.inc
disks "disk Disk1 size=16384 first=2048 file=$name.img
disk Disk2 size=16384 first=2048 file=$name.2.img
disk Disk3 size=16384 first=2048 file=$name.3.img
volume Raid1 size=8192 kind=raid5 hint=R:
component kind=raid stripe=128 columns=3
part disk=Disk1 start=0 size=4096 index=0
part disk=Disk2 start=0 size=4096 index=1
part disk=Disk3 start=0 size=4096 index=2"
