"""torch's DataLoader.

    loader     iterators in the main process: passes
    wait       their waits, and the batches that they make without workers
    sampler    what choosing the samples of a batch takes
    ending     what sending the workers away takes
    fetcher    data sets and collate functions: samples, in workers and in the main process
    chains     finds the operators (transforms) that samples pass through
    operators  names them and has them timed
    worker     the worker loop: batches asked for, made, handed over
    override   settings that the tool asks for in place of the script's (stallcast verify)
"""
