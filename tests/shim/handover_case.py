"""What the tests of batches that are handed over share."""

import loop_job
from harness import ShimTest

LOADER = """
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(data, torch.arange(100) % 2), batch_size=4)
"""
FED = """
import queue, threading
handed = queue.Queue(2)
def feed():
    for batch in loader:
        handed.put(batch)
    handed.put(None)
threading.Thread(target=feed).start()
"""


class HandoverCase(ShimTest):
    NEEDS = "torch"

    def both(self, content):
        """The processes of the script that train."""
        return [recording for recording in loop_job.both(self, content) if recording.steps]

    def marks(self, consumer):
        return [mark for mark in consumer.texts["mark"] if mark["what"] == "loader in thread"]

    def handed(self, consumer):
        """(what hands batches over, samples of each wait there)"""
        texts = [text for text in consumer.texts["loader"] if text["kind"] == "queue"]
        self.assertLessEqual(len(texts), 1)
        if not texts:
            return None
        loaders = {one["iterator_id"]: one["loader_id"] for one in consumer.texts["iterator"]}
        waits = [wait.samples for wait in consumer.deliveries() if loaders[wait.iterator_id] == texts[0]["loader_id"]]
        return texts[0]["dataset_type"], waits

    def assert_handed(self, consumer, where, batches=19, is_in_thread=True):
        """25 steps. Another thread is known at the second, which counts as the first: two are watched after the third."""
        self.assertEqual(len(self.marks(consumer)), int(is_in_thread))
        self.assertEqual(self.handed(consumer), (where, [4] * batches))
