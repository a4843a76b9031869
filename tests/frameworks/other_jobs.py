"""Small real jobs whose loaders are Grain's, Hugging Face's, torchdata.nodes', SPDL's and Ray's.

  other_jobs.py NAME DATA SEEN EPOCHS

As jobs.py: a line of JSON in SEEN for every batch that the training step gets. In SEEN.waits there is a line for each
next(): when it began and ended, as the script itself saw it.
"""
import glob
import hashlib
import json
import logging
import os
import sys
import time

import numpy

BATCH = 8
WORKERS = 2
STEP_S = 0.005
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("HF_HUB_OFFLINE", "1")


class Seen:
    """What the training step was given, and how long the script waited for it."""

    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8")  # closed with the process
        self.waits = open(path + ".waits", "w", encoding="utf-8")

    def batch(self, epoch, values):
        values = numpy.ascontiguousarray(values)
        line = {"epoch": int(epoch), "shapes": [list(values.shape)], "hash": hashlib.sha1(values.tobytes()).hexdigest()}
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()
        time.sleep(STEP_S)

    def took(self, begin_ns):
        """A batch that was asked for then is there."""
        self.waits.write("%d %d\n" % (begin_ns, time.monotonic_ns()))
        self.waits.flush()

    def timed(self, batches):
        """The batches themselves."""
        iterator = iter(batches)
        while True:
            begin_ns = time.monotonic_ns()
            try:
                batch = next(iterator)
            except StopIteration:
                return
            self.took(begin_ns)
            yield batch
            del batch  # it is the script's when it lets go of a batch


class Arrays:
    """A file of an array for each sample, read and then worked on for a while."""

    def __init__(self, folder):
        self.paths = sorted(glob.glob(os.path.join(folder, "*.npy")))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        values = numpy.load(self.paths[index])
        for _ in range(40):
            values = numpy.sort(values, axis=-1)[..., ::-1] + 0.5
        return numpy.ascontiguousarray(values)

    def __repr__(self):
        return "Arrays"


def jax_step():
    """A step as JAX users write it: a jitted function that takes and gives the state; its buffers are donated."""
    import functools

    import jax
    import jax.numpy as jnp
    import optax
    from flax import nnx

    model = nnx.Linear(3072, 10, rngs=nnx.Rngs(0))
    graph, weights = nnx.split(model)
    optimizer = optax.sgd(1e-6)
    state = {"weights": weights, "optimizer": optimizer.init(weights)}

    def loss_of(weights, values):
        return jnp.square(nnx.merge(graph, weights)(values.reshape(values.shape[0], -1))).mean()

    @functools.partial(jax.jit, donate_argnums=0)
    def step(state, values):
        loss, gradients = jax.value_and_grad(loss_of)(state["weights"], values)
        updates, inner = optimizer.update(gradients, state["optimizer"])
        return {"weights": optax.apply_updates(state["weights"], updates), "optimizer": inner}, loss

    def train(values):
        nonlocal state
        state, loss = step(state, jnp.asarray(values))
        return loss

    return train


def train_jax(make_batches, seen, epochs):
    step = jax_step()
    for epoch in range(epochs):
        for values in seen.timed(make_batches(epoch)):
            step(values)
            seen.batch(epoch, values)


def train_torch(make_batches, seen, epochs):
    import torch

    torch.set_num_threads(1)
    model = torch.nn.Linear(3072, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    for epoch in range(epochs):
        for values in seen.timed(make_batches(epoch)):
            optimizer.zero_grad()
            model(torch.as_tensor(numpy.asarray(values)).flatten(1)).square().mean().backward()
            optimizer.step()
            seen.batch(epoch, values)


def grain_samples(folder):
    import grain

    return grain.MapDataset.source(Arrays(folder)).shuffle(seed=7)


def grain_threads(folder, seen, epochs):
    """The way that Grain's own pages show: batches of a MapDataset, read by threads."""
    import grain

    options = grain.ReadOptions(num_threads=2, prefetch_buffer_size=4)
    dataset = grain_samples(folder).batch(BATCH).to_iter_dataset(options)
    train_jax(lambda epoch: dataset, seen, epochs)


def grain_evaluating(folder, seen, epochs):
    """An evaluation after each epoch, by a loader and a jitted function of its own."""
    import grain
    import jax

    training = grain_samples(folder).batch(BATCH).to_iter_dataset(grain.ReadOptions(num_threads=0))
    evaluation = grain_samples(folder)[:80].batch(BATCH).to_iter_dataset(grain.ReadOptions(num_threads=0))
    step, evaluate = jax_step(), jax.jit(lambda values: values.mean())
    for epoch in range(epochs):
        for values in seen.timed(training):
            step(values)
            seen.batch(epoch, values)
        for values in seen.timed(evaluation):
            evaluate(values).block_until_ready()


def grain_serial(folder, seen, epochs):
    import grain

    dataset = grain_samples(folder).to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0))
    train_jax(lambda epoch: dataset.batch(BATCH), seen, epochs)


def grain_processes(folder, seen, epochs):
    """Worker processes, one iterator over all epochs, whose state is saved at each of them."""
    import grain
    from absl import flags

    flags.FLAGS.mark_as_parsed()
    samples = grain_samples(folder).repeat(epochs).batch(BATCH)
    dataset = samples.to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0))
    options = grain.multiprocessing.MultiprocessingOptions(num_workers=WORKERS, per_worker_buffer_size=2)
    iterator = iter(dataset.mp_prefetch(options))
    step = jax_step()
    for number, values in enumerate(seen.timed(iterator)):
        step(values)
        seen.batch(number // 50, values)
        if number % 50 == 0:
            state = json.dumps(iterator.get_state(), sort_keys=True, default=str)
            seen.file.write(json.dumps({"state": hashlib.sha1(state.encode()).hexdigest()}) + "\n")


def grain_loader(folder, seen, epochs):
    """Grain's DataLoader."""
    import grain

    arrays = Arrays(folder)
    loaders = [grain.DataLoader(
        data_source=arrays, operations=[grain.transforms.Batch(BATCH)], shard_options=grain.sharding.NoSharding(),
        sampler=grain.samplers.IndexSampler(len(arrays), shuffle=True, seed=epoch, num_epochs=1),
        read_options=grain.ReadOptions(num_threads=2, prefetch_buffer_size=16)) for epoch in range(epochs)]
    train_jax(lambda epoch: loaders[epoch], seen, epochs)


def hugging_face(folder):
    import datasets

    datasets.disable_progress_bars()
    rows = {"values": numpy.stack([numpy.load(path) for path in Arrays(folder).paths]).reshape(-1, 3072).tolist()}
    return datasets.Dataset.from_dict(rows)


def datasets_batches(folder, seen, epochs):
    dataset = hugging_face(folder).with_format("numpy")
    train_torch(lambda epoch: (batch["values"].astype(numpy.float32) for batch in
                               dataset.shuffle(seed=epoch).iter(batch_size=BATCH)), seen, epochs)


def datasets_stream(folder, seen, epochs):
    import datasets

    arrays = Arrays(folder)

    def samples():
        for index in range(len(arrays)):
            yield {"values": arrays[index].reshape(-1)}

    stream = datasets.IterableDataset.from_generator(samples).shuffle(seed=3, buffer_size=64).with_format("numpy")
    train_torch(lambda epoch: (batch["values"] for batch in stream.iter(batch_size=BATCH)), seen, epochs)


def node_loader(folder, method, workers):
    import torch
    from torchdata import nodes

    arrays = Arrays(folder)
    indices = nodes.SamplerWrapper(torch.utils.data.RandomSampler(arrays, generator=torch.Generator().manual_seed(7)))
    samples = nodes.ParallelMapper(indices, arrays.__getitem__, num_workers=workers, method=method)
    batches = nodes.Mapper(nodes.Batcher(samples, BATCH, drop_last=False), numpy.stack)
    return nodes.Loader(nodes.Prefetcher(batches, 2) if workers else batches)


def nodes_threads(folder, seen, epochs):
    loader = node_loader(folder, "thread", WORKERS)
    train_torch(lambda epoch: loader, seen, epochs)


def nodes_serial(folder, seen, epochs):
    loader = node_loader(folder, "thread", 0)
    train_torch(lambda epoch: loader, seen, epochs)


def spdl(folder, seen, epochs):
    from spdl.pipeline import PipelineBuilder

    arrays = Arrays(folder)

    def batches(epoch):
        order = numpy.random.default_rng(epoch).permutation(len(arrays)).tolist()
        builder = PipelineBuilder().add_source(order).pipe(arrays.__getitem__, concurrency=2, output_order="input")
        pipeline = builder.aggregate(BATCH).pipe(numpy.stack).add_sink(2).build(num_threads=3)
        pipeline.start()
        return taken(pipeline)

    def taken(pipeline):
        yield from pipeline.get_iterator(timeout=60)
        pipeline.stop()

    train_torch(batches, seen, epochs)


def ray_data(folder, seen, epochs):
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_DATA_DISABLE_PROGRESS_BARS="1")
    import ray

    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    paths = Arrays(folder).paths

    def load(batch):
        batch["values"] = numpy.stack([numpy.load(paths[index]) for index in batch["id"]])
        return batch

    dataset = ray.data.range(len(paths)).map_batches(load, batch_size=64)
    train_torch(lambda epoch: (batch["values"] for batch in dataset.iter_batches(batch_size=BATCH)), seen, epochs)


# name: (job, module that it needs beyond numpy)
JOBS = {"grain_threads": (grain_threads, "grain"), "grain_serial": (grain_serial, "grain"),
        "grain_evaluating": (grain_evaluating, "grain"),
        "grain_processes": (grain_processes, "grain"), "grain_loader": (grain_loader, "grain"),
        "datasets_batches": (datasets_batches, "datasets"), "datasets_stream": (datasets_stream, "datasets"),
        "nodes_threads": (nodes_threads, "torchdata.nodes"), "nodes_serial": (nodes_serial, "torchdata.nodes"),
        "spdl": (spdl, "spdl"), "ray_data": (ray_data, "ray.data")}


def main():
    name, folder, seen, epochs = sys.argv[1:5]
    JOBS[name][0](folder, Seen(seen), int(epochs))


if __name__ == "__main__":
    main()
