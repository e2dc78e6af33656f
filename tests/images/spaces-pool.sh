# A disk of a pool of Storage Spaces that has no copy of the pool's database, on GPT. By tests/makers/spaces.pl.
directory=$(dirname "$1")
printf 'disk Pool database=0\n' | perl ../makers/spaces.pl "$directory"
truncate -s 36M "$1"
printf 'label: gpt\nlabel-id: 6C646D00-0000-4000-8000-000000000000\nstart=32768,size=32768,type=E75CAF8F-F680-4CEE-AFA3-B001E56EFC2D,uuid=9A270000-0000-4000-8000-000000000001,name="Storage pool"\n' | sfdisk -q "$1"
dd if="$directory/Pool.img" of="$1" bs=4096 seek=4096 conv=notrunc status=none
rm "$directory/Pool.img"
