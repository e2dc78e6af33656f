# PostgreSQL 15 under load on a misaligned volume, and on the same slowed by 30 ms: what its log and its statistics say, and
# iostat beside them, comes to another verdict, and the straddle share of its pages is the planted one.
# Only in a soak.
. "$LAB/helpers.sh"
. "$LAB/servers.sh"
PATH=$PATH:/usr/lib/postgresql/15/bin
need pgbench=postgresql-15 postgres=postgresql-15 psql=postgresql-client-15 setpriv=util-linux mkfs.ext4=e2fsprogs
modules ext4
misaligned 160 2
quiet mkfs.ext4 -q -F /dev/loop0
mkdir data
mount /dev/loop0 data
mkdir -m 777 run
install -d -o nobody -g nogroup data/pg
cd run

# The server refuses to be root's.
as() { setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"; }
start() { quiet as pg_ctl --pgdata=/tmp/data/pg --log="$1" --wait start; }
stop() { quiet as pg_ctl --pgdata=/tmp/data/pg --wait stop; }
sql() { as psql --no-psqlrc --command="$1" bank; }

quiet as initdb --no-sync --pgdata=/tmp/data/pg --username=postgres --no-locale --encoding=UTF8
cat >> /tmp/data/pg/postgresql.conf <<'CONF'
listen_addresses = ''
unix_socket_directories = '/tmp/run'
shared_buffers = 1MB
track_io_timing = on
log_checkpoints = on
autovacuum = off
CONF
export PGHOST=/tmp/run PGUSER=postgres
start /tmp/run/fill.log
as createdb bank
quiet as pgbench --initialize --init-steps=dtgp --scale=6 --quiet bank
same "server" 15 "$(as psql -XAt -c 'SHOW server_version_num' bank | cut -c -2)"
file=/tmp/data/pg/$(as psql -XAt -c "SELECT pg_relation_filepath('pgbench_accounts')" bank)
stop

# load NAME: reads of accounts that nothing has in memory, some changes of them, and a checkpoint; statistics before and after.
load() {
    echo 3 > /proc/sys/vm/drop_caches
    start "/tmp/run/$1.log"
    sql 'SELECT * FROM pg_stat_database' > "$1.database"
    sql 'SELECT * FROM pg_stat_bgwriter' > "$1.bgwriter"
    intervals "$1.iostat" 3 4 &
    quiet as pgbench --no-vacuum --client=2 --time=14 --builtin=select-only@9 --builtin=simple-update@1 bank
    wait $!
    quiet sql CHECKPOINT
    sql 'SELECT * FROM pg_stat_database' >> "$1.database"
    sql 'SELECT * FROM pg_stat_bgwriter' >> "$1.bgwriter"
    stop
    evidence "$1.json" "$1.log" "$1.database" "$1.bgwriter" "$1.iostat"
    same "$1: formats" "iostat pg_stat_checkpointer pg_stat_database postgresql-checkpoints" \
        "$(jq -r '.formats | sort | join(" ")' "$1.json")"
    [ -z "${OUT:-}" ] || cp "$1".* "$OUT"
}

# checkpoints NAME: what the view has grown by is what the line of the log says. The second line is that of the shutdown.
checkpoints() {
    local figure
    for figure in checkpoint-write checkpoint-sync; do
        holds "$1: $figure of the view and of the log, ms apart" "$(jq --arg figure $figure '
            [.stack[] | select(.activity).activity.series[] | select(.quantity == $figure)]
            | (.[] | select(.span == "since-start").summary | .last.value - .first.value)
                - (.[] | select(.span == "event").summary.first.value)
            | . * 1000 | round | fabs' "$1.json")" '. <= 2'
    done
}

load bare
planted 8192 /dev/loop0
planted 8192 "$file" pgbench_accounts
umount /tmp/data
slowed
mount /dev/mapper/slow /tmp/data
load slow
planted 8192 "$file" pgbench_accounts

checkpoints bare
checkpoints slow
amplified bare.json
same "bare: above the target" nothing "$(found bare.json STR802)"
same "slow: above the target" "database bank slow" "$(found slow.json STR802)"
holds "bare: a read of the database, s" "$(between bare.json 'database bank' read-time reads)" '. < 0.02'
holds "slow: a read of the database, s" "$(between slow.json 'database bank' read-time reads)" '. > 0.02 and . < 0.06'
# Timers of the guest's kernel tick each 10 ms.
holds "reads of the device, s longer when slowed" \
    "$(jq -n "$(mean slow.json slow read-latency interval) - $(mean bare.json loop0 read-latency interval)")" \
    '. > 0.028 and . < 0.05'
