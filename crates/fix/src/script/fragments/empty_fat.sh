empty=no
bytes=$(number "$part" 11 2)
tables=$(number "$part" 22 2)
heap=$(($(number "$part" 14 2) * bytes))
root=$((heap + $(number "$part" 16 1) * tables * bytes))
length=$(($(number "$part" 17 2) * 32))
own=4
if [ "$tables" = 0 ]; then
    tables=$(number "$part" 36 4)
    own=12
    length=$(($(number "$part" 13 1) * bytes))
    root=$((heap + $(number "$part" 16 1) * tables * bytes + ($(number "$part" 44 4) - 2) * length))
fi
used=$(dd if="$part" bs=1M iflag=skip_bytes,count_bytes,fullblock skip=$((heap + own)) count=$((tables * bytes - own)) status=none | tr -d '\0' | wc -c)
entries=$(od -An -v -t u1 -w32 -j "$root" -N "$length" "$part" | awk '$1 == 0 { exit } $1 != 229 && $12 != 8 && $12 != 40 { n++ } END { print n + 0 }')
if [ "$bytes" -ge 512 ] && [ "$length" -gt 0 ] && [ "$used $entries" = '0 0' ]; then empty=yes; fi
