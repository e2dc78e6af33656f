empty=no
used=$(xfs_db -r -c 'sb 0' -c 'print icount ifree' "$part" 2> /dev/null | awk '{ n = n ? n - $3 : $3 } END { print n }') || used=''
if [ "$used" = 3 ] && xfs_logprint -t "$part" 2> /dev/null | grep -q 'state: <CLEAN>' && xfs_repair -n "$part" > /dev/null 2>&1; then empty=yes; fi
