"""Small real jobs over graphs, whose loaders are PyG's and DGL's.

  graph_jobs.py NAME DATA SEEN EPOCHS

As other_jobs.py: a line of JSON in SEEN for every batch that the training step gets, and in SEEN.waits one for each
next(): when it began and ended, as the script itself saw it.
"""
import sys

import numpy

from other_jobs import BATCH, WORKERS, Arrays, Seen

NEIGHBOURS = 4
NODE = 3072  # values


def features(folder):
    return numpy.stack([numpy.load(path) for path in Arrays(folder).paths]).reshape(-1, NODE)


def edges(nodes):
    """(2, edges): each node has NEIGHBOURS that point to it."""
    near = numpy.random.default_rng(5).integers(0, nodes, (nodes, NEIGHBOURS))
    return numpy.stack([near.reshape(-1), numpy.repeat(numpy.arange(nodes), NEIGHBOURS)])


def worked(values):
    for _ in range(4):
        values = values.sort(dim=-1).values.flip(-1) + 0.5
    return values


def train_torch(loader, seen, epochs, values_of):
    import torch

    model = torch.nn.Linear(NODE, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    for epoch in range(epochs):
        for batch in seen.timed(loader):
            values, graph = values_of(batch)
            optimizer.zero_grad()
            model(values).square().mean().backward()
            optimizer.step()
            seen.batch(epoch, numpy.concatenate([values.numpy().reshape(-1), graph.numpy().reshape(-1)]))
            del batch, values, graph  # a batch in shared memory is given back here, and not within the next one's time


def one_thread():
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(3)
    numpy.random.seed(3)
    return torch.Generator().manual_seed(7)


def train_pyg(loader, seen, epochs):
    train_torch(loader, seen, epochs, lambda batch: (batch.x, batch.edge_index))


def pyg_graphs(folder, seen, epochs):
    """Many small graphs, each in a file, put together in the workers."""
    import torch
    from torch_geometric.data import Data
    from torch_geometric.loader import DataLoader

    generator = one_thread()

    class Graphs(torch.utils.data.Dataset):
        arrays = Arrays(folder)

        def __len__(self):
            return len(self.arrays)

        def __getitem__(self, index):
            values = torch.from_numpy(self.arrays[index].reshape(1, NODE).repeat(1 + index % 3, 0))
            return Data(x=values, edge_index=torch.zeros((2, 2), dtype=torch.long))

    loader = DataLoader(Graphs(), batch_size=BATCH, shuffle=True, num_workers=WORKERS, generator=generator)
    train_pyg(loader, seen, epochs)


def one_graph(folder):
    import torch
    from torch_geometric.data import Data

    values = features(folder)
    return Data(x=torch.from_numpy(values), edge_index=torch.from_numpy(edges(len(values))))


def prepared(batch):
    """What PyG does in the process that trains, with filter_per_worker=False."""
    batch.x = worked(batch.x)
    return batch


def pyg_neighbours(folder, seen, epochs):
    from torch_geometric.loader import NeighborLoader

    generator = one_thread()
    loader = NeighborLoader(one_graph(folder), [NEIGHBOURS], batch_size=BATCH, shuffle=True, num_workers=WORKERS,
                            generator=generator, transform=prepared, filter_per_worker=False)
    train_pyg(loader, seen, epochs)


def pyg_nodes(folder, seen, epochs, **options):
    """The same, the neighbours found by a sampler of the script's: nothing beyond PyG is needed."""
    import torch
    from torch_geometric.loader import NodeLoader
    from torch_geometric.sampler import BaseSampler, SamplerOutput

    generator = one_thread()
    graph = one_graph(folder)

    class AllNeighbours(BaseSampler):
        near = graph.edge_index[0].reshape(-1, NEIGHBOURS)

        def sample_from_nodes(self, index):
            seeds = index.node
            column = torch.arange(len(seeds)).repeat_interleave(NEIGHBOURS)
            return SamplerOutput(node=torch.cat([seeds, self.near[seeds].reshape(-1)]), edge=None, col=column,
                                 row=torch.arange(len(column)) + len(seeds), metadata=(index.input_id, index.time))

        def sample_from_edges(self, index, neg_sampling=None):
            raise NotImplementedError

    loader = NodeLoader(graph, AllNeighbours(), batch_size=BATCH, shuffle=True, generator=generator,
                        transform=prepared, **{"num_workers": WORKERS, "filter_per_worker": False, **options})
    train_pyg(loader, seen, epochs)


def pyg_nodes_in_workers(folder, seen, epochs):
    pyg_nodes(folder, seen, epochs, filter_per_worker=True)


def pyg_nodes_serial(folder, seen, epochs):
    """Without workers."""
    pyg_nodes(folder, seen, epochs, num_workers=0)


def dgl_graph(folder):
    """A graph of DGL's, with its features."""
    import dgl
    import torch

    values = features(folder)
    graph = dgl.graph(tuple(torch.from_numpy(edges(len(values)))), num_nodes=len(values))
    graph.ndata["x"] = torch.from_numpy(values)
    return graph


def dgl_neighbours(folder, seen, epochs, workers=WORKERS):
    """Sampled in the workers; the features are fetched in the process that trains, as DGL does."""
    import dgl
    import torch

    one_thread()
    dgl.seed(3)
    graph = dgl_graph(folder)
    sampler = dgl.dataloading.NeighborSampler([NEIGHBOURS], prefetch_node_feats=["x"])
    loader = dgl.dataloading.DataLoader(graph, torch.arange(graph.num_nodes()), sampler, batch_size=BATCH, shuffle=True,
                                        num_workers=workers)
    train_torch(loader, seen, epochs, lambda batch: (batch[2][0].srcdata["x"], torch.cat([batch[0], batch[1]])))


def dgl_neighbours_serial(folder, seen, epochs):
    dgl_neighbours(folder, seen, epochs, workers=0)


def dgl_graphbolt(folder, seen, epochs, workers=WORKERS):
    """GraphBolt: a chain of data pipes, whose part up to the features runs in the workers of a loader within."""
    import dgl
    import dgl.graphbolt as gb
    import torch

    one_thread()
    dgl.seed(3)
    values = features(folder)
    graph = gb.from_dglgraph(dgl_graph(folder), is_homogeneous=True)
    store = gb.BasicFeatureStore({("node", None, "x"): gb.TorchBasedFeature(torch.from_numpy(values))})
    seeds = gb.ItemSet(torch.arange(len(values)), names="seed_nodes")
    pipe = gb.ItemSampler(seeds, batch_size=BATCH).sample_neighbor(graph, [NEIGHBOURS])
    pipe = pipe.fetch_feature(store, node_feature_keys=["x"])
    loader = gb.DataLoader(pipe, num_workers=workers)
    train_torch(loader, seen, epochs, lambda batch: (batch.node_features["x"], batch.input_nodes))


# name: (job, module that it needs beyond numpy)
JOBS = {"pyg_graphs": (pyg_graphs, "torch_geometric"), "pyg_nodes": (pyg_nodes, "torch_geometric"),
        "pyg_nodes_in_workers": (pyg_nodes_in_workers, "torch_geometric"),
        "pyg_nodes_serial": (pyg_nodes_serial, "torch_geometric"),
        "pyg_neighbours": (pyg_neighbours, "torch_sparse"),
        "dgl_neighbours": (dgl_neighbours, "dgl"), "dgl_neighbours_serial": (dgl_neighbours_serial, "dgl"),
        "dgl_graphbolt": (dgl_graphbolt, "dgl.graphbolt")}


def main():
    name, folder, seen, epochs = sys.argv[1:5]
    JOBS[name][0](folder, Seen(seen), int(epochs))


if __name__ == "__main__":
    main()
