# A member of an Intel set of two disks: two mirrors, the second at sector 8,192.
perl ../makers/firmware-raid.pl "${1%/*}" <<'SET'
set imsm
disk firmware-even size=24576 serial=S-1
disk other size=24576 serial=S-2 missing=1
volume System level=1 strip=128 used=8000 disks=firmware-even,other
volume Data level=1 strip=128 used=8192 start=8192 disks=firmware-even,other
SET
