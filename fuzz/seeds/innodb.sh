# InnoDB tablespaces by mariadbd (Debian package mariadb-server-core), which only reads statements and ends.
innodb() { # PAGE CHECKSUM OPTIONS
    rm -rf "$work/data"; mkdir "$work/data"
    printf 'create database d;\nuse d;\ncreate table t (i int primary key) engine=innodb %s;\n' "$3" |
        mariadbd --no-defaults --user=root --bootstrap --datadir="$work/data" --innodb-log-file-size=4M \
            --innodb-page-size="$1" --innodb-checksum-algorithm="$2" 2>/dev/null
    cp "$work/data/d/t.ibd" "$image"
}
for page in 4k 16k 64k; do innodb $page full_crc32 row_format=dynamic; thin innodb full-crc32-$page; done
thin inspect innodb-64k
put 65535 00; thin innodb full-crc32-damaged
put 54 ffffffff; thin innodb flags-max
innodb 8k crc32 row_format=redundant; thin innodb crc32-8k
put 0 00000000; thin innodb crc32-older-checksum
put 8192 00000000000000000000000000000000; thin innodb second-page-elsewhere
innodb 16k crc32 'row_format=compressed key_block_size=1'; thin innodb compressed-1k; thin inspect innodb-compressed
put 54 0000002d; thin innodb compressed-32k
innodb 16k full_crc32 page_compressed=1; thin innodb with-holes
keep innodb truncated 5000
rm -rf "$work/data"
