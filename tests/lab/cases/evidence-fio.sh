# iostat beside fio, on a misaligned loop device and on the same slowed by 30 ms: latency and rate that `straddle evidence`
# takes from iostat, from fio's report, and those of fio's own log of every request agree; the disks get as many requests
# more as the straddle share says.
# Takes long.
. "$LAB/helpers.sh"
. "$LAB/servers.sh"
need fio=fio
misaligned 32 8
slowed

# logged [BEGIN END]: mean latency in seconds, and rate, of the requests in fio's log that ended between these milliseconds since 1970, or of all.
# The log has milliseconds, and nanoseconds that the request took.
logged() {
    awk -F ', ' -v begin="${1:-0}" -v end="${2:-9e15}" '
        NR == 1 { first = $1 }
        $1 >= begin && $1 < end { count++; sum += $2 }
        { last = $1 }
        END { print sum / count / 1e9, count * 1000 / ((end < last ? end : last) - (begin > first ? begin : first)) }' log_lat.1.log
}

# compare NAME DEVICE ABOVE: the name is that of iostat; ABOVE is what has a latency above the target.
compare() {
    local latency rate begin end
    # Every request is in the log, and none is averaged.
    fio --name=job --filename="$2" --readonly --rw=randread --bs=8k --iodepth=1 --direct=1 --ioengine=psync \
        --randseed=7 --time_based --runtime=12 --output-format=json --output=fio.json --write_lat_log=log --log_unix_epoch=1 &
    sleep 2
    begin=$(date +%s%3N)
    intervals iostat.txt 1 8
    end=$(date +%s%3N)
    wait $!
    evidence "$1.json" iostat.txt
    evidence fio-read.json fio.json
    # Of the same seconds: a machine with other work to do is not equally fast in all of them.
    read -r latency rate < <(logged "$begin" "$end")
    agree "$1: latency of iostat and of fio's log" 10 "$(mean "$1.json" "$1" read-latency interval)" "$latency"
    agree "$1: IOPS of iostat and of fio's log" 10 "$(mean "$1.json" "$1" read-rate interval)" "$rate"
    read -r latency rate < <(logged)
    agree "$1: latency of fio's report and of its log" 10 "$(mean fio-read.json 'job job' read-latency run)" "$latency"
    agree "$1: IOPS of fio's report and of its log" 10 "$(mean fio-read.json 'job job' read-rate run)" "$rate"
    same "$1: above the target" "$3" "$(found "$1.json" STR802)"
}

planted 8192 /dev/loop0
planted 8192 /dev/mapper/slow
compare loop0 /dev/loop0 nothing
amplified loop0.json
compare slow /dev/mapper/slow slow
