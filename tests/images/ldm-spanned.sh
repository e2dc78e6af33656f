# Two dynamic disks, a spanned volume over both.
. ./ldm.inc
disks "disk Disk1 size=16384 first=2048 file=$name.img
disk Disk2 size=16384 first=2048 file=$name.2.img
volume Volume1 size=12288 hint=S:
component kind=spanned
part disk=Disk1 start=0 size=8192
part disk=Disk2 start=0 size=4096 offset=8192 index=1"
