"""Small real jobs whose training loop is their own, on Keras' and TensorFlow's functions.

  tensorflow_jobs.py NAME DATA SEEN EPOCHS

As other_jobs.py: a line of JSON in SEEN for every batch that the training step gets, and in SEEN.waits one for each batch
that was made for a step: when its making began and ended, as the script itself saw it.
"""
import os
import sys
import time

import numpy

from other_jobs import BATCH, Arrays, Seen

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")


def maker(folder):
    arrays, random = Arrays(folder), numpy.random.default_rng(7)

    def get_batch(size):
        return numpy.stack([arrays[index] for index in random.integers(0, len(arrays), size).tolist()]).astype("float32")

    return get_batch, len(arrays) // BATCH


def parts():
    """A small model, its optimizer, and a step of it."""
    import keras
    import tensorflow

    keras.utils.set_random_seed(7)
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(1)])
    optimizer = keras.optimizers.SGD(1e-6)

    def step(values):
        with tensorflow.GradientTape() as tape:
            loss = tensorflow.reduce_mean(model(values) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    return model, optimizer, step


def train(folder, seen, epochs, step, evaluate=None):
    get_batch, steps = maker(folder)
    for epoch in range(epochs):
        for _ in range(steps):
            begin_ns = time.monotonic_ns()
            values = get_batch(BATCH)
            seen.took(begin_ns)
            step(values)
            seen.batch(epoch, values)
        for _ in range(4 if evaluate is not None else 0):
            begin_ns = time.monotonic_ns()
            values = get_batch(BATCH)
            seen.took(begin_ns)
            evaluate(values)


def tf_function(folder, seen, epochs):
    """A step within a tf.function, and an evaluation by another one after each epoch."""
    import tensorflow

    model, _, step = parts()
    train(folder, seen, epochs, tensorflow.function(step), tensorflow.function(lambda values: model(values)))


def tf_eager(folder, seen, epochs):
    train(folder, seen, epochs, parts()[2])


def keras_on_batch(folder, seen, epochs):
    """Model.train_on_batch, of batches that a function of the script's makes."""
    model, optimizer, _ = parts()
    model.compile(optimizer, "mse")
    train(folder, seen, epochs, lambda values: model.train_on_batch(values, numpy.zeros((len(values), 1), "float32")))


# name: (job, module that it needs beyond numpy)
JOBS = {"tf_function": (tf_function, "tensorflow"), "tf_eager": (tf_eager, "tensorflow"),
        "keras_on_batch": (keras_on_batch, "tensorflow")}


def main():
    name, folder, seen, epochs = sys.argv[1:5]
    JOBS[name][0](folder, Seen(seen), int(epochs))


if __name__ == "__main__":
    main()
