# A dynamic disk, a simple volume that was made larger on the same disk.
. ./ldm.inc
disks "disk Disk1 size=20480 first=2048 file=$name.img
volume Volume1 size=6144 hint=S:
component kind=spanned
part disk=Disk1 start=0 size=4096
part disk=Disk1 start=8192 size=2048 offset=4096 index=1"
