# Two dynamic disks, one with a GPT, a mirrored volume.
. ./ldm.inc
disks "disk Disk1 size=16384 first=2048 file=$name.img
disk Disk2 size=20480 table=gpt first=4096 file=$name.2.img
volume Mirror1 size=8192 hint=M:
component kind=spanned
part disk=Disk1 start=0 size=8192
component kind=spanned
part disk=Disk2 start=0 size=8192"
