"""What runs inside the Python processes of a profiled command. Stdlib only; it decides nothing and prints nothing.

    hooks      waits for the import of the modules that are patched
    capture    the C calls, through the built-in functions of the capture library or through ctypes
    fallback   the same marks in Python, for interpreters that the capture library cannot extend
    loader     iterators in the main process: passes
    wait       their waits, and the batches that they make without workers
    fetcher    data sets and collate functions: samples, in workers and in the main process
    chains     finds the operators (transforms) that samples pass through
    operators  names them and has them timed
    worker     the worker loop: batches asked for, made, handed over
    optimizer  steps
    passes     passes and waits of loaders that are not torch's
    tfdata     tf.data, where Python pulls its batches
    keras      Model.fit of Keras on TensorFlow: lets Python pull
    dali       DALI's iterators
    adapters   what the adapters below share: where a pull counts, passes
    counting   samples of a batch of theirs
    grain      Grain's DataLoader, IterDataset and MapDataset
    datasets_iter  Hugging Face's datasets, iterated by the loop itself
    nodes      torchdata.nodes' Loader
    spdl       SPDL's pipelines
    jax_steps  which loader trains, of a JAX job
    ray_data   Ray Data's batches, and clusters whose workers nobody sees
    api        what `import stallcast` gives a script
    wish       settings that the tool wants for the training loader (stallcast verify)
    sizes      samples of a batch
    describe   what the records are about: process, loader, pass
    thread     what the current thread is in the middle of
"""
