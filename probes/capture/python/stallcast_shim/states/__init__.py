"""What makes the states of a measured run: which batches may reach a worker, and when the script gets them.

    plan         the segments that the tool publishes
    phases       which passes states are made on
    measured     one pass: what may reach a worker, what the script may get, what was done
    segment_run  what of the segments this process runs, and letting go
    gate         holds index lists back on their way to the workers' queues, and marks them
    hold, room   holds the script in next() until all is made and the workers sleep; whether there is room for that
    prediction   what a pass will draw, from copies of known samplers; checked against each draw
    order        the same of samplers that nobody knows, from the list that they go through
    lookahead    the index lists around where a pass is: what both of them keep
    answer       what the tool is told of the batches to come
    names        what a data set calls its samples, so that it can be told which files unread ones will read
    pickled      of entries that a data set keeps pickled, their texts and numbers
    arrow        of tables of Arrow, the columns of names
    jax_steps    which loader trains, of a JAX job
    device_clock the device's own time of a burst
"""
