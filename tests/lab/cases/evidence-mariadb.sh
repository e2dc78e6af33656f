# MariaDB 10.11 under load on a misaligned volume, and on the same slowed by 30 ms: what the status of InnoDB and the file
# tables say, and iostat beside them, comes to another verdict, and the straddle share of its pages is the planted one.
# Takes long.
. "$LAB/helpers.sh"
. "$LAB/servers.sh"
need mariadbd=mariadb-server-core mariadb-install-db=mariadb-server-core mariadb=mariadb-client-core mkfs.ext4=e2fsprogs
modules ext4
misaligned 160 2
quiet mkfs.ext4 -q -F /dev/loop0
mkdir data run
mount /dev/loop0 data
cd run

# What the kernel of the guest cannot map is not reserved: newer servers reserve terabytes.
cat > my.cnf <<'CONF'
[mariadbd]
user = root
datadir = /tmp/data/my
socket = /tmp/run/socket
skip-networking
performance-schema = ON
innodb-buffer-pool-size = 8M
loose-innodb-buffer-pool-size-max = 8M
innodb-log-file-size = 8M
innodb-flush-method = O_DIRECT
CONF
quiet mariadb-install-db --defaults-file=/tmp/run/my.cnf --force --auth-root-authentication-method=normal --skip-test-db

sql() { mariadb --no-defaults --user=root --socket=/tmp/run/socket "$@"; }
start() {
    mariadbd --defaults-file=/tmp/run/my.cnf "$@" > server.log 2>&1 &
    server=$!
    for _ in {1..600}; do # A minute.
        sql --execute='SELECT 1' > /dev/null 2>&1 && return
        sleep 0.1
    done
    cat server.log >&2
    return 1
}
stop() {
    sql --execute=SHUTDOWN
    wait $server
}

start --innodb-flush-log-at-trx-commit=0
same "server" 10.11 "$(sql --skip-column-names --execute='SELECT VERSION()' | cut -d. -f-2)"
sql <<'SQL'
CREATE DATABASE bank;
USE bank
CREATE TABLE accounts (id INT PRIMARY KEY, balance INT NOT NULL, filler CHAR(200) NOT NULL) ENGINE=InnoDB CHARSET=latin1;
INSERT INTO accounts SELECT seq, 0, REPEAT('x', 200) FROM seq_1_to_150000;
DELIMITER //
CREATE PROCEDURE work(seconds INT)
BEGIN
    DECLARE till DATETIME(6) DEFAULT SYSDATE(6) + INTERVAL seconds SECOND;
    DECLARE row, found, turn INT DEFAULT 0;
    WHILE SYSDATE(6) < till DO
        SET row = 1 + FLOOR(RAND() * 150000), turn = turn + 1;
        IF turn % 10 THEN
            SELECT balance INTO found FROM accounts WHERE id = row;
        ELSE
            UPDATE accounts SET balance = balance + 1 WHERE id = row;
        END IF;
    END WHILE;
END //
SQL
stop

# load NAME: reads of rows that the pool does not hold, and some changes of them.
load() {
    start
    sql --execute='SELECT balance FROM bank.accounts WHERE id = 1' > opened # The first reading has the file then.
    intervals "$1.iostat" 2 3 &
    local iostat=$!
    sql --table --execute='SELECT * FROM performance_schema.file_summary_by_instance' > "$1.files"
    sql --execute='CALL bank.work(8)' &
    local other=$!
    sql --execute='CALL bank.work(8)'
    wait $iostat $other
    sql --execute='SHOW ENGINE INNODB STATUS\G' > "$1.innodb"
    sql --table --execute='SELECT * FROM performance_schema.file_summary_by_instance' >> "$1.files"
    stop
    evidence "$1.json" "$1.innodb" "$1.files" "$1.iostat"
    same "$1: formats" "innodb-status iostat mysql-file-statistics" "$(jq -r '.formats | sort | join(" ")' "$1.json")"
    [ -z "${OUT:-}" ] || cp "$1".* "$OUT"
}

table=/tmp/data/my/bank/accounts.ibd
load bare
planted 16384 /dev/loop0
planted 16384 $table
umount /tmp/data
slowed
mount /dev/mapper/slow /tmp/data
# Reads past the page cache are those of the device. On a busy machine one of three loads agrees: the server waits for a processor there, too.
near() {
    jq -n --argjson table "$(between slow.json $table read-time reads)" \
        --argjson device "$(mean slow.json slow read-latency interval)" -e '$table / $device | . >= 0.9 and . <= 1.1' > /dev/null
}
for _ in 1 2 3; do
    load slow > said
    near && break
done
cat said
planted 16384 $table

for name in bare slow; do
    agree "$name: size of a read, and a page of InnoDB" 5 "$(mean $name.json server read-size interval)" 16384
    agree "$name: reads of InnoDB, and of its files" 5 "$(mean $name.json server reads since-start)" "$(jq '
        [.stack[] | select(.name | endswith(".ibd") or endswith("/ibdata1")).activity.series[]
            | select(.quantity == "reads").summary.last.value] | add' $name.json)"
done
amplified bare.json
same "bare: above the target" nothing "$(found bare.json STR802)"
# Tables of the server itself are read now and then.
same "slow: above the target, of volume and table" "$table slow" \
    "$(found slow.json STR802 | tr ' ' '\n' | grep -x -e slow -e $table | xargs)"
agree "slow: a read of the table and of the device" 10 "$(between slow.json $table read-time reads)" \
    "$(mean slow.json slow read-latency interval)"
holds "bare: a read of the table, s" "$(between bare.json $table read-time reads)" '. < 0.02'
# Timers of the guest's kernel tick each 10 ms.
holds "reads of the device, s longer when slowed" \
    "$(jq -n "$(mean slow.json slow read-latency interval) - $(mean bare.json loop0 read-latency interval)")" \
    '. > 0.028 and . < 0.05'
