"""The kit that proves the GPU part on a machine with a GPU (docs/gpu.md says how to run it).

checks      a figure beside its limit: pass, fail, absent; parts, and the table of all of them
machine     what is measured on, and with which sizes: a GPU, or a CPU for rehearsals
commands    the tool and the jobs around which it is run
traces      what a device did in a stretch of time: the probe's bins, and torch.profiler's own trace
parts       the list of all parts, in the order in which they run
one module a part: injection device cost training predictions cold exchange decoding sharing situations
"""
