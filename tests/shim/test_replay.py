"""Replayed batches: same structure, same content, whatever the script did to the one before. Tensors need torch."""

import collections
import dataclasses
import os
import sys
import unittest

sys.path.insert(0, os.environ["STALLCAST_TEST_SHIM"])

from stallcast_shim.replay import RING, Ring  # noqa: E402

try:
    import torch
except ImportError:
    print("torch cannot be imported here", file=sys.stderr)
    sys.exit(77)

Pair = collections.namedtuple("Pair", "x y")


@dataclasses.dataclass(frozen=True)
class Sample:
    x: object
    name: str


class Opaque:
    pass


def serve_all(ring):
    ring.prepare()
    return [ring.serve() for _ in range(len(ring))]


class RingTest(unittest.TestCase):
    def test_structure_and_content_are_kept(self):
        x = torch.arange(6.0)
        for batch in ((x, [x, "a"]), Pair(x, x + 1), {"x": x, "n": 3}, Sample(x, "s"), [x], x):
            ring = Ring()
            ring.keep(batch, 6)
            served, samples = serve_all(ring)[0]
            self.assertIs(type(served), type(batch))
            self.assertEqual(samples, 6)
            self.assertEqual(repr(served), repr(batch))
            self.assertFalse(ring.by_reference)

    def test_a_batch_changed_in_place_is_served_unchanged_again(self):
        ring = Ring()
        ring.keep((torch.ones(3), 1), 3)
        ring.prepare()
        first, _ = ring.serve()
        first[0].mul_(7)
        again, _ = ring.serve()
        self.assertEqual(again[0].tolist(), [1, 1, 1])
        self.assertEqual(ring.changed, 1)

    def test_a_part_replaced_by_the_script_comes_back(self):
        for batch in ([torch.ones(3), 1], {"x": torch.ones(3)}):
            ring = Ring()
            ring.keep(batch, 3)
            ring.prepare()
            first, _ = ring.serve()
            first[next(iter(first)) if isinstance(first, dict) else 0] = torch.zeros(3)  # as in batch["x"] = ... .cuda()
            again, _ = ring.serve()
            self.assertEqual(repr(again), repr(batch))

    def test_an_unchanged_batch_is_not_copied_again(self):
        ring = Ring()
        ring.keep(torch.ones(3), 3)
        ring.prepare()
        self.assertIs(ring.serve()[0], ring.serve()[0])

    def test_the_original_is_the_scripts(self):
        batch = torch.ones(3)
        ring = Ring()
        ring.keep(batch, 3)
        batch.zero_()
        self.assertEqual(serve_all(ring)[0][0].tolist(), [1, 1, 1])

    def test_the_oldest_is_replaced_when_the_ring_is_full(self):
        ring = Ring()
        for number in range(RING + 2):
            ring.keep(torch.tensor([number]), number)
        self.assertEqual(sorted(samples for _, samples in serve_all(ring)), list(range(2, RING + 2)))

    def test_what_cannot_be_copied_is_handed_out_by_reference_and_flagged(self):
        ring = Ring()
        thing = Opaque()
        ring.keep([thing], 1)
        self.assertIs(serve_all(ring)[0][0][0], thing)
        self.assertTrue(ring.by_reference)


if __name__ == "__main__":
    unittest.main()
