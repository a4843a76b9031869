"""Ground truth for benchmarks: plain runs of a job, without us, under limits that the kernel enforces.

files       residency and eviction of files, the disk that holds them
resident    files held in memory by another process for the whole of a run
limits      storage bandwidth and cores, by control groups
jobs        data sets, and the sample job run plainly or under the tool
statistics  medians, spread, alternation, and whether the machine is quiet
"""
