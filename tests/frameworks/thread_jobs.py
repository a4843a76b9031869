"""Small real jobs whose loaders are not PyTorch's: tf.data, Keras, DALI, and a loop that marks itself.

  thread_jobs.py NAME DATA SEEN EPOCHS [STEPS_PER_EXECUTION]

As jobs.py: a line of JSON in SEEN for every batch that the training step gets. None of them imports what it does not
use, and only `wrapped` knows of stallcast.
"""
import glob
import hashlib
import json
import os
import sys
import time

import numpy

BATCH = 8
STEP_S = 0.005
NPY_HEADER = 128
SHARDS = 4
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")


class Seen:
    """What the training step was given."""

    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8")  # closed with the process

    def batch(self, epoch, values):
        values = numpy.ascontiguousarray(values)
        line = {"epoch": int(epoch), "shapes": [list(values.shape)], "hash": hashlib.sha1(values.tobytes()).hexdigest()}
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()
        time.sleep(STEP_S)


def paths_in(folder):
    return sorted(glob.glob(os.path.join(folder, "*.npy")))


def pipeline(folder):
    """Read, decoded and shuffled in TensorFlow's own threads; the same order in every run."""
    import tensorflow as tf

    def load(path):
        content = tf.strings.substr(tf.io.read_file(path), NPY_HEADER, -1)
        return tf.reshape(tf.io.decode_raw(content, tf.float32), [3, 32, 32])

    paths = tf.data.Dataset.from_tensor_slices(paths_in(folder)).shuffle(1000, seed=7)
    return paths.map(load, num_parallel_calls=2, deterministic=True).batch(BATCH).prefetch(2)


def records(folder):
    """The same arrays as shards of TFRecords, made by the first run, two of them read at a time."""
    import tensorflow as tf

    target = os.path.join(folder, "records")
    if not os.path.isdir(target):
        os.makedirs(target + ".part")
        for shard in range(SHARDS):
            with tf.io.TFRecordWriter(os.path.join(target + ".part", "%04d.tfrecord" % shard)) as writer:
                for path in paths_in(folder)[shard::SHARDS]:
                    writer.write(numpy.load(path).tobytes())
        os.rename(target + ".part", target)
    shards = tf.data.Dataset.from_tensor_slices(sorted(glob.glob(os.path.join(target, "*"))))
    samples = shards.interleave(tf.data.TFRecordDataset, cycle_length=2, num_parallel_calls=2, deterministic=True)
    samples = samples.shuffle(64, seed=7).map(lambda record: tf.reshape(tf.io.decode_raw(record, tf.float32), [3, 32, 32]))
    return samples.batch(BATCH).prefetch(2)


def train_compiled(dataset, seen, epochs):
    """A loop of one's own around a compiled step."""
    import tensorflow as tf

    tf.random.set_seed(1)
    weights = tf.Variable(tf.zeros([3072, 10]))

    @tf.function
    def step(values):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(tf.reshape(values, [-1, 3072]) @ weights - 1.0))
        weights.assign_sub(1e-6 * tape.gradient(loss, weights))
        return loss

    for epoch in range(epochs):
        for values in dataset:
            step(values)
            seen.batch(epoch, values.numpy())


def tf_data(folder, seen, epochs):
    train_compiled(pipeline(folder), seen, epochs)


def tf_records(folder, seen, epochs):
    train_compiled(records(folder), seen, epochs)


def keras(folder, seen, epochs):
    """Model.fit; what its training step is given is written down from within the graph."""
    import keras as k
    import tensorflow as tf

    k.utils.set_random_seed(1)
    k.config.disable_traceback_filtering()
    state = {"epoch": 0}

    class Classifier(k.Model):
        def __init__(self):
            super().__init__()
            self.flat, self.dense = k.layers.Flatten(), k.layers.Dense(1)

        def call(self, values):
            return self.dense(self.flat(values))

        def train_step(self, data):
            logs = super().train_step((data, tf.zeros([tf.shape(data)[0], 1])))
            tf.numpy_function(lambda values: seen.batch(state["epoch"], values), [data], [])
            return logs

    class Epochs(k.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            state["epoch"] = epoch

    model = Classifier()
    per_execution = int(sys.argv[5]) if len(sys.argv) > 5 else 1
    model.compile("sgd", "mse", steps_per_execution=per_execution)
    history = model.fit(pipeline(folder), epochs=epochs, verbose=0, callbacks=[Epochs()])
    print(json.dumps(history.history["loss"]))


def dali(folder, seen, epochs):
    import torch  # before DALI, as its plugin asks for
    from nvidia.dali import fn, pipeline_def
    from nvidia.dali.plugin.base_iterator import LastBatchPolicy
    from nvidia.dali.plugin.pytorch import DALIGenericIterator

    torch.set_num_threads(1)

    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=None, seed=7)
    def read():
        return fn.readers.numpy(files=paths_in(folder), random_shuffle=True, seed=7, name="Reader",
                                dont_use_mmap=True) * 1.0

    model = torch.nn.Linear(3072, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    loader = DALIGenericIterator(read(), ["values"], reader_name="Reader", auto_reset=True,
                                 last_batch_policy=LastBatchPolicy.PARTIAL)
    for epoch in range(epochs):
        for (batch,) in loader:
            optimizer.zero_grad()
            model(batch["values"].flatten(1)).square().sum().backward()
            optimizer.step()
            seen.batch(epoch, batch["values"].numpy())


def dali_dynamic(folder, seen, epochs):
    """DALI's dynamic mode, its operators captured."""
    import torch  # before DALI
    import nvidia.dali.experimental.dynamic as ndd

    torch.set_num_threads(1)
    model = torch.nn.Linear(3072, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    reader = ndd.readers.Numpy(files=paths_in(folder), dont_use_mmap=True)
    for epoch in range(epochs):
        for values in reader.next_epoch(batch_size=BATCH, capture=True):
            values = ndd.normalize(values[0]).torch()
            optimizer.zero_grad()
            model(values.flatten(1)).square().sum().backward()
            optimizer.step()
            seen.batch(epoch, values.numpy())


def wrapped(folder, seen, epochs):
    """The three lines of the Python API in a loop that nobody knows."""
    try:
        import stallcast
    except ImportError:
        stallcast = None

    def batches(epoch):
        order = numpy.random.default_rng(epoch).permutation(len(paths_in(folder)))
        paths = paths_in(folder)
        for begin in range(0, len(paths), BATCH):
            yield numpy.stack([numpy.load(paths[index]) for index in order[begin:begin + BATCH]])

    for epoch in range(epochs):
        for values in stallcast.wrap(batches(epoch), workers=0) if stallcast else batches(epoch):
            seen.batch(epoch, values)


# name: (job, module that it needs beyond numpy)
JOBS = {"wrapped": (wrapped, None), "tf_data": (tf_data, "tensorflow"), "tf_records": (tf_records, "tensorflow"),
        "keras": (keras, "tensorflow"),
        "dali": (dali, "nvidia.dali"), "dali_dynamic": (dali_dynamic, "nvidia.dali.experimental.dynamic")}


def main():
    name, folder, seen, epochs = sys.argv[1:5]
    JOBS[name][0](folder, Seen(seen), int(epochs))


if __name__ == "__main__":
    main()
