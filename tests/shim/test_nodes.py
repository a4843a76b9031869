"""torchdata.nodes and SPDL: scripted modules of the same names and shape, so that neither is needed. Jobs with the real
ones are in tests/frameworks."""

from harness import ShimTest, main
from recording import END_OF_EPOCH, FIRST
from scripted_nodes import MODULES


class ScriptedTest(ShimTest):
    HEAD = ""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, content in MODULES.items():
            cls.write("fake/" + name, content)

    def same(self, content):
        """Runs the script with and without the shim, which must look the same; the one with it."""
        path = self.write("script.py", "")
        with open(path, "w") as file:
            file.write(self.HEAD + content)
        result = self.python(path, python_path=[self.folder + "/fake"])
        plain = self.python(path, python_path=[self.folder + "/fake"], shim=False)
        self.assertEqual((result.status, result.out, result.err), (plain.status, plain.out, plain.err))
        self.assertEqual(plain.status, 0, plain.err)
        return result.run

    def consumer(self, content):
        run = self.same(content)
        self.assertEqual(run.issues, [])
        return run.consumer

    def one_issue_where(self, module, names, content):
        for name in names:
            run = self.same(
                """
import sys
module = sys.modules.get("stallcast_shim.loaders.%s")
def broken(*arguments):
    raise ZeroDivisionError("of ours")
if module is not None:
    exec("module.%s = broken")
"""
                % (module, name)
                + content
            )
            self.assertEqual([issue["id"] for issue in run.issues], ["shim-failed"], name)


class NodesTest(ScriptedTest):
    HEAD = """
from torchdata.nodes.loader import *
pets = Pets()
samples = ParallelMapper(SamplerWrapper(RandomSampler(range(10))), pets.__getitem__)
batches = Batcher(samples, 4)
loader = Loader(batches)
"""

    def test_passes(self):
        consumer = self.consumer("for epoch in range(2):\n    for batch in loader:\n        print(batch)\n")
        self.assertEqual([wait.samples for wait in consumer.waits], [4, 4, 0] * 2)
        self.assertEqual([wait.flags for wait in consumer.waits], [FIRST, 0, END_OF_EPOCH] * 2)
        self.assertEqual(len(consumer.batches), 6)
        (text,) = consumer.texts["loader"]
        self.assertEqual((text["kind"], text["composition"], text["num_workers"]), ("torchdata.nodes", "serial", 0))
        self.assertEqual((text["batch_size"], text["drop_last"], text["shuffled"]), (4, True, True))
        self.assertEqual((text["dataset_type"], text["dataset_samples"]), ("Pets", 10))
        self.assertEqual(text["stages"], ["Batcher", "ParallelMapper", "SamplerWrapper"])
        self.assertEqual([text["epoch"] for text in consumer.texts["iterator"]], [0, 1])

    def test_threads_and_processes(self):
        for method, composition, workers, threads in (("thread", "overlapped", None, 3),
                                                      ("process", "unknown", 3, None)):
            consumer = self.consumer(
                "samples.method, samples.num_workers = '%s', 3\nprint(list(Loader(Prefetcher(batches, 5))))" % method)
            (text,) = consumer.texts["loader"]
            self.assertEqual((text["composition"], text["num_workers"]), (composition, workers))
            self.assertEqual((text["threads"], text["read_ahead"]), (threads, 5))
            self.assertEqual(consumer.batches, [])

    def test_a_data_loader_within(self):
        consumer = self.consumer(
            """
class DataLoader(list):
    pass
class IterableWrapper(SamplerWrapper):
    iterable = DataLoader()
print(list(Loader(Batcher(IterableWrapper(range(8)), 4))))
"""
        )
        self.assertEqual((consumer.texts["loader"][0]["composition"], consumer.batches), ("unknown", []))

    def test_a_pass_that_is_left_early(self):
        consumer = self.consumer("print(next(iter(loader)), list(loader), next(iter(loader)))")
        self.assertEqual([wait.samples for wait in consumer.waits], [4, 4, 4, 0, 4])
        self.assertEqual([text["epoch"] for text in consumer.texts["iterator"]], [0, 1, 2])

    def test_a_saved_state_goes_on(self):
        consumer = self.consumer(
            """
print(loader.state_dict(), next(iter(loader)), loader.state_dict())
loader.load_state_dict(loader.state_dict())
print([(type(it), list(it)) for it in [iter(loader)]], loader.state_dict())
"""
        )
        self.assertEqual([wait.samples for wait in consumer.waits], [4, 4, 0])
        self.assertEqual(sum(wait.flags & FIRST for wait in consumer.waits), 2 * FIRST)

    def test_a_failure_of_ours_is_one_issue(self):
        self.one_issue_where("nodes", ("describe", "_chain", "adapters.counts_here"), "print(list(Loader(batches)))")


class SpdlTest(ScriptedTest):
    HEAD = """
from spdl.pipeline._build import *
config = PipelineConfig(range(10), PipeConfig("load", 2), AggregateConfig())
"""

    def test_passes(self):
        consumer = self.consumer(
            """
for epoch in range(2):
    pipeline = build_pipeline(config, num_threads=5)
    print([(type(batches), list(batches)) for batches in [pipeline.get_iterator(timeout=3)]])
"""
        )
        self.assertEqual([wait.samples for wait in consumer.waits], [4, 4, 2, 0] * 2)
        self.assertEqual([wait.flags for wait in consumer.waits], [FIRST, 0, 0, END_OF_EPOCH] * 2)
        (text,) = consumer.texts["loader"]  # a pipeline of its own in each epoch, and the same
        self.assertEqual((text["kind"], text["composition"], text["num_workers"]), ("spdl", "overlapped", None))
        self.assertEqual((text["batch_size"], text["threads"], text["read_ahead"]), (4, 5, 3))
        self.assertEqual((text["stages"], text["concurrency"]), (["load", "aggregate(4)"], [2, None]))
        self.assertEqual((text["dataset_type"], text["dataset_samples"]), ("range", 10))

    def test_what_is_taken_by_hand(self):
        consumer = self.consumer(
            """
pipeline = build_pipeline(config, num_threads=5)
try:
    while True:
        print(pipeline.get_item())
except EOFError as error:
    print(error)
"""
        )
        self.assertEqual([wait.samples for wait in consumer.waits], [4, 4, 2, 0])

    def test_worker_processes(self):
        consumer = self.consumer(
            """
config.pipes = (PipeConfig("load", 2, ProcessPoolExecutor()), AggregateConfig())
print(list(build_pipeline(config, num_threads=5).get_iterator()))
"""
        )
        (text,) = consumer.texts["loader"]
        self.assertEqual((text["composition"], text["num_workers"]), ("unknown", 3))

    def test_an_iterable_in_a_process_of_its_own(self):
        consumer = self.consumer(
            "from spdl.pipeline._iter_utils._subprocess import _SubprocessIterable\nprint(list(_SubprocessIterable()))")
        self.assertEqual([wait.samples for wait in consumer.waits], [1, 1, 1, 0])

    def test_threads_of_a_pipeline_do_not_wait(self):
        run = self.same(
            """
import threading
pipeline = build_pipeline(config, num_threads=5)
thread = threading.Thread(target=lambda: print(list(pipeline.get_iterator())), name="spdl_worker_thread_0")
thread.start()
thread.join()
"""
        )
        self.assertFalse(any(recording.waits for recording in run.recordings))

    def test_a_failure_of_ours_is_one_issue(self):
        self.one_issue_where("spdl", ("describe", "_name", "adapters.counts_here"),
                             "print(list(build_pipeline(config, num_threads=5).get_iterator()))")


if __name__ == "__main__":
    main()
