# WiredTiger files by wt (Debian package wiredtiger).
wiredtiger() { # UNIT
    rm -rf "$work/data"; mkdir "$work/data"
    wt -h "$work/data" create -c "allocation_size=$1,leaf_page_max=128KB,internal_page_max=128KB" file:t.wt
    cp "$work/data/t.wt" "$image"
    truncate -s 128K "$image"; put "$2" 01
}
for unit in 512 4096 65536; do wiredtiger $unit $unit; thin wiredtiger unit-$unit; done
thin inspect wiredtiger-65536
put 4 ffffffff; thin wiredtiger version-max
wiredtiger 4096 4095; thin wiredtiger not-blank
wiredtiger 4096 4096; keep wiredtiger truncated 4000
rm -rf "$work/data"
