"""What runs inside the Python processes of a profiled command. Stdlib only; it decides nothing and prints nothing.

    hooks         waits for the import of the modules that are patched
    api           what `import stallcast` gives a script
    capture       the C calls, through the built-in functions of the capture library or through ctypes
    fallback      the same marks in Python, for interpreters that the capture library cannot extend
    describe      what the records are about: process, loader, pass
    sizes         samples of a batch
    at_once       data sets that make a batch by one call
    thread        what the current thread is in the middle of
    frames        keeps our functions out of Python's warnings

    states/       the states of a measured run: which batches may reach a worker, and when the script gets them
    torch_loader/ torch's DataLoader: iterators, waits, workers, samples and the operators that they pass through
    loaders/      loaders of other libraries: an adapter each, and what a wait of any loader is
    steps/        optimizers, what ranks exchange, loops whose batches no loader makes

A module imports from its own folder, from those above it in this list, and from the modules at the top.
"""
