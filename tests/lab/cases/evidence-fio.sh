# iostat beside fio, on a misaligned loop device and on the same slowed by 30 ms: latency and rate that `straddle evidence`
# takes from iostat, from fio's report, and those of fio's own log of every request agree; the disks get as many requests
# more as the straddle share says.
# Takes long.
. "$LAB/helpers.sh"
. "$LAB/servers.sh"
need fio=fio
misaligned 32 8
slowed

# compare NAME DEVICE ABOVE: the name is that of iostat; ABOVE is what has a latency above the target.
compare() {
    local latency rate
    # Every request is in the log, and none is averaged.
    fio --name=job --filename="$2" --readonly --rw=randread --bs=8k --iodepth=1 --direct=1 --ioengine=psync \
        --randseed=7 --time_based --runtime=12 --output-format=json --output=fio.json --write_lat_log=log &
    sleep 2
    S_TIME_FORMAT=ISO iostat -dxty -N 1 8 > iostat.txt
    wait $!
    evidence "$1.json" iostat.txt
    evidence fio-read.json fio.json
    # Milliseconds since the start, nanoseconds that the request took.
    read -r latency rate < <(awk -F ', ' '{ sum += $2; end = $1 } END { print sum / NR / 1e9, NR * 1000 / end }' log_lat.1.log)
    agree "$1: latency of iostat and of fio's log" 10 "$(mean "$1.json" "$1" read-latency interval)" "$latency"
    agree "$1: IOPS of iostat and of fio's log" 10 "$(mean "$1.json" "$1" read-rate interval)" "$rate"
    agree "$1: latency of fio's report and of its log" 10 "$(mean fio-read.json 'job job' read-latency run)" "$latency"
    agree "$1: IOPS of fio's report and of its log" 10 "$(mean fio-read.json 'job job' read-rate run)" "$rate"
    same "$1: above the target" "$3" "$(found "$1.json" STR802)"
}

planted 8192 /dev/loop0
planted 8192 /dev/mapper/slow
compare loop0 /dev/loop0 nothing
amplified loop0.json
compare slow /dev/mapper/slow slow
