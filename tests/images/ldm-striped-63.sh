# Two dynamic disks of Windows 2003, a striped volume from sector 63 of each, on it NTFS with 64 KiB. By tests/makers/ldm.pl.
. ./ldm.inc
first=63 striped
