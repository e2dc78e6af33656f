# A member of an Intel set of two disks: a mirror, and behind it a degraded mirror that starts at sector 8,193.
perl ../makers/firmware-raid.pl "${1%/*}" <<'SET'
set imsm
disk firmware-odd size=24576 serial=S-1
disk other size=24576 serial=S-2 missing=1
volume System level=1 strip=128 used=8000 disks=firmware-odd,other
volume Data level=1 strip=128 used=8192 start=8193 state=2 dirty=1 disks=firmware-odd,other
SET
