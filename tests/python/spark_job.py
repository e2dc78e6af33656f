"""A driver of Spark, in a process of its own: CLUSTER EVENTS PID TRACE…; prints what each trace comes to, and when it was done.

While the last is read, PID, the leader of a worker's processes, is killed with them as soon as ten tasks of the job are done.
"""

import json
import os
import signal
import sys
import threading
import time

import straddle.spark
from pyspark.sql import SparkSession

cluster, events, worker, *traces = sys.argv[1:]
columns = "offset=offset,size=length,op=operation,device=device,time=time:ns"
spark = (SparkSession.builder.master(cluster).config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
         .config("spark.executor.memory", "512m").config("spark.executor.cores", "1").config("spark.cores.max", "2")
         .config("spark.eventLog.enabled", "true").config("spark.eventLog.compress", "false").config("spark.eventLog.dir", f"file://{events}").getOrCreate())
# Both executors, before anything is handed out. Whoever runs this ends it when they do not come.
while len(spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()) < 3:
    time.sleep(0.1)


def kill(group):
    tracker = spark.sparkContext.statusTracker()
    while True:
        # Stages of the jobs before may still be called active.
        jobs = filter(None, map(tracker.getJobInfo, tracker.getJobIdsForGroup(group)))
        stages = [tracker.getStageInfo(stage) for job in jobs for stage in job.stageIds]
        if any(stage.numCompletedTasks >= 10 for stage in stages if stage):
            os.killpg(int(worker), signal.SIGKILL)
            return
        time.sleep(0.005)


for left, trace in zip(reversed(range(len(traces))), traces):
    if left == 0:
        spark.sparkContext.setJobGroup("last", "while a worker is killed")
        threading.Thread(target=kill, args=["last"], daemon=True).start()
    counts = straddle.spark.scan(trace, spark=spark, block=20_000, columns=columns, units=["192K"])
    print(json.dumps({"found": counts.answer(units=["4K", "64K", "192K"]), "done": 1000 * time.time()}))
spark.stop()
