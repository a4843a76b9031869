"""Steps of the training.

    optimizer  steps of torch's optimizers
    backward   backward passes, where no optimizer steps
    compilers  keeps torch.compile from what is ours
    count      what a step is to us
    exchange   what DistributedDataParallel timed of an exchange
    gpu        lets torch.profiler have CUPTI
    watch      looks at two steps of a loop that no loader serves
    makers     which functions made the batches of what was seen
    arrays     tells the arrays of these steps apart
    own_loop   finds the functions that make its batches, and has them timed
    timed      times them
    by_turns   when it is looked for further ones
    keras_loop steps of Keras' optimizers, eager or within a tf.function
    jax_loop   sees the calls of a jitted function that trains
    replace    code that calls something else
    running    times generators that have begun
    handover   batches that come from another thread or process of the script
"""
