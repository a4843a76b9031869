"""Small real jobs that train with JAX and take their batches from loaders that are not JAX's.

  jax_jobs.py NAME DATA SEEN EPOCHS

As other_jobs.py: a line of JSON in SEEN for every batch that the training step gets, and in SEEN.waits one for each
next(): when it began and ended, as the script itself saw it.
"""
import os
import sys
import time

import numpy

from other_jobs import BATCH, WORKERS, Arrays, Seen, jax_step, train_jax

UNROLLED = 600  # layers of a step that takes XLA several seconds to compile
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")


def torch_loader(folder, **options):
    """torch's DataLoader as JAX's own pages use it: batches are arrays, workers are started anew and not forked."""
    import torch

    generator = torch.Generator().manual_seed(7)
    return torch.utils.data.DataLoader(Arrays(folder), batch_size=BATCH, shuffle=True, num_workers=WORKERS,
                                       generator=generator, collate_fn=numpy.stack, persistent_workers=True,
                                       multiprocessing_context="spawn", **options)


def jax_torch(folder, seen, epochs):
    loader = torch_loader(folder)
    train_jax(lambda epoch: loader, seen, epochs)


def jax_torch_evaluating(folder, seen, epochs):
    """An evaluation after each epoch, by a loader and a jitted function of its own."""
    import jax
    import torch

    training = torch_loader(folder)
    evaluation = torch.utils.data.DataLoader(Arrays(folder), batch_size=64, collate_fn=numpy.stack)
    step, evaluate = jax_step(), jax.jit(lambda values: values.mean())
    for epoch in range(epochs):
        for values in seen.timed(training):
            step(values)
            seen.batch(epoch, values)
        for values in seen.timed(evaluation):
            evaluate(values).block_until_ready()


def jax_tf_data(folder, seen, epochs):
    import thread_jobs

    dataset = thread_jobs.pipeline(folder)
    train_jax(lambda epoch: dataset.as_numpy_iterator(), seen, epochs)


def jax_wrapped(folder, seen, epochs):
    """A generator of the script's, marked with stallcast.wrap."""
    try:
        from stallcast import wrap
    except ImportError:
        def wrap(batches, workers):
            return batches

    arrays = Arrays(folder)

    def batches(epoch):
        order = numpy.random.default_rng(epoch).permutation(len(arrays)).tolist()
        for begin in range(0, len(order), BATCH):
            yield numpy.stack([arrays[index] for index in order[begin:begin + BATCH]])

    train_jax(lambda epoch: wrap(batches(epoch), workers=0), seen, epochs)


def jax_function(folder, seen, epochs):
    """No loader: a function of the script's makes a batch between two steps, also those of an evaluation by another jitted
    function."""
    import jax

    arrays, random = Arrays(folder), numpy.random.default_rng(7)
    step, evaluate = jax_step(), jax.jit(lambda values: values.mean())

    def get_batch(size):
        return numpy.stack([arrays[index] for index in random.integers(0, len(arrays), size).tolist()])

    for epoch in range(epochs):
        for number in range(len(arrays) // BATCH + 4):
            size = BATCH if number > 4 else BATCH - 1  # another one is compiled for
            begin_ns = time.monotonic_ns()
            values = get_batch(size)
            seen.took(begin_ns)
            if number < 4:
                evaluate(values).block_until_ready()
            else:
                step(values)
                seen.batch(epoch, values)


def jax_compiling(folder, seen, epochs):
    """A step that takes long to compile, at the first batch and again at a batch of another size."""
    import jax
    import jax.numpy as jnp

    def loss_of(weights, values):
        for _ in range(UNROLLED):
            values = jnp.sin(values @ weights)
        return values.mean()

    step = jax.jit(lambda weights, values: weights - 1e-6 * jax.grad(loss_of)(weights, values))
    weights = jnp.eye(8)
    loader = torch_loader(folder)
    for epoch in range(epochs):
        for values in seen.timed(loader):
            weights = step(weights, values.reshape(len(values), -1)[:, :8])
            seen.batch(epoch, values)


def keras_jax(folder, seen, epochs, workers=1):
    """Model.fit of Keras over a PyDataset, and an evaluation after each epoch."""
    os.environ["KERAS_BACKEND"] = "jax"
    import keras as k

    k.utils.set_random_seed(1)
    state = {"epoch": 0}

    class Files(k.utils.PyDataset):
        def __init__(self, size, **options):
            super().__init__(**options)
            self.arrays, self.size = Arrays(folder), size

        def __len__(self):
            return -(-len(self.arrays) // self.size)

        def __getitem__(self, number):
            indices = range(number * self.size, min((number + 1) * self.size, len(self.arrays)))
            values = numpy.stack([self.arrays[index] for index in indices])
            return values, numpy.zeros((len(values), 1), "float32")

    class Timed:
        def __init__(self, iterator, trains):
            self.iterator, self.trains = iterator, trains

        def __next__(self):
            begin_ns = time.monotonic_ns()
            batch = next(self.iterator)
            seen.took(begin_ns)
            if self.trains:
                seen.batch(state["epoch"], numpy.asarray(batch[0]))
            return batch

    class Classifier(k.Sequential):
        def make_train_function(self, force=False):
            super().make_train_function(force)
            self.train_function = self.timed(self.train_function, True)

        def make_test_function(self, force=False):
            super().make_test_function(force)
            self.test_function = self.timed(self.test_function, False)

        def timed(self, function, trains):
            if hasattr(function, "is_timed"):
                return function

            def timed(variables, iterator):
                return function(variables, Timed(iterator, trains))

            timed.is_timed = True
            return timed

    class Epochs(k.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            state["epoch"] = epoch

    model = Classifier([k.Input((3, 32, 32)), k.layers.Flatten(), k.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(Files(BATCH, workers=workers, max_queue_size=4), validation_data=Files(64), epochs=epochs, verbose=0,
              callbacks=[Epochs()])


def keras_jax_threads(folder, seen, epochs):
    keras_jax(folder, seen, epochs, workers=2)


# name: (job, module that it needs beyond numpy)
JOBS = {"jax_torch": (jax_torch, "optax"), "jax_torch_evaluating": (jax_torch_evaluating, "optax"),
        "jax_tf_data": (jax_tf_data, "tensorflow"), "jax_wrapped": (jax_wrapped, "optax"),
        "jax_compiling": (jax_compiling, "jax"), "jax_function": (jax_function, "optax"),
        "keras_jax": (keras_jax, "keras"), "keras_jax_threads": (keras_jax_threads, "keras")}


def main():
    name, folder, seen, epochs = sys.argv[1:5]
    JOBS[name][0](folder, Seen(seen), int(epochs))


if __name__ == "__main__":
    main()
