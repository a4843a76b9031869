"""How many samples there are in what a loader hands over that leaves batching to its data set."""

import importlib.util
import os
import unittest

PATH = os.path.join(os.environ["STALLCAST_TEST_SHIM"], "stallcast_shim", "sizes.py")
SPEC = importlib.util.spec_from_file_location("sizes", PATH)
sizes = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(sizes)


class Array:
    """As much of an array as is looked at."""

    def __init__(self, *shape):
        self.shape = shape


class Item(unittest.TestCase):
    def test_batches(self):
        for item in [
            (Array(16, 3, 224, 224), Array(16)),
            [Array(16, 3, 224, 224), [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3]],
            {"image": Array(16, 3, 8, 8), "name": ["a"] * 16},
            {"input_ids": Array(16, 512), "lengths": Array(16), "cumulated": Array(17)},
            ((Array(16, 5), Array(16, 7)), Array(16)),
            Array(16, 128),
        ]:
            self.assertEqual(sizes.of_item(item), (16, sizes.LEADING))

    def test_graphs(self):
        block = type("DGLBlock", (), {"__module__": "dgl.heterograph"})()
        batch = type("MiniBatch", (), {"__module__": "dgl.graphbolt.minibatch", "seeds": None})()
        batch.seed_nodes = Array(8)
        for item in [(Array(40), Array(8), [block]), [Array(40), {"user": Array(5), "item": Array(3)}, [block, block]], batch]:
            self.assertEqual(sizes.of_item(item), (8, sizes.SEEDS))
        self.assertEqual(sizes.of_item((Array(40), Array(8), [])), (1, sizes.ITEM))

    def test_single_samples(self):
        for item in [
            (Array(3, 224, 224), 7),  # a picture and its class
            (Array(3, 224, 224), Array()),
            {"__key__": "000017", "jpg": Array(3, 64, 64)},
            (Array(3, 64, 64), Array(1, 64, 64)),  # a picture and its mask
            (Array(3, 64, 64), Array(3, 64, 64)),
            Array(3, 64, 64),
            {"input_ids": Array(512), "labels": Array(512)},  # a row of tokens
            (Array(3, 64, 64), Array(7, 4)),  # boxes
            "text",
            12,
            (),
            object(),
        ]:
            self.assertEqual(sizes.of_item(item), (1, sizes.ITEM))

    def test_streams_with_automatic_batching_count_as_before(self):
        self.assertEqual(sizes.of_stream((Array(3, 8, 8), 7), True), 3)
        self.assertEqual(sizes.of_stream((Array(3, 8, 8), 7), False), 1)


if __name__ == "__main__":
    unittest.main()
