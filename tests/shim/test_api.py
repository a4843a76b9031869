"""`import stallcast`: marks of a script's own loops, and nothing at all without a run."""

import os

from harness import SHIM, ShimTest, main
from recording import END_OF_EPOCH, FIRST, UNKNOWN

LOOP = """
import stallcast
class Batches:
    batch_size = 4
    def __iter__(self):
        for number in range(3):
            yield [bytearray(number + 1), "x"]
    def shape(self):
        return "own"
loader = stallcast.wrap(Batches(), samples=lambda batch: len(batch[0]))
for epoch in range(2):
    for batch in loader:
        stallcast.step()
        print(len(batch[0]), type(batch).__name__)
print(loader.shape(), loader.batch_size, stallcast.active())
"""


class ApiTest(ShimTest):
    def run_script(self, content, **options):
        return self.python(self.write("script.py", content), **options)

    def fine(self, content, **options):
        result = self.run_script(content, **options)
        self.assert_fine(result)
        return result

    # --- under stallcast ---

    def test_a_loop(self):
        result = self.fine(LOOP)
        self.assertEqual(result.out, "1 list\n2 list\n3 list\n" * 2 + "own 4 True\n")
        consumer = result.run.consumer
        self.assertEqual([wait.samples for wait in consumer.waits], [1, 2, 3, 0] * 2)
        self.assertEqual([wait.flags for wait in consumer.waits], [FIRST, 0, 0, END_OF_EPOCH] * 2)
        self.assertEqual([wait.batch for wait in consumer.waits], [0, 1, 2, 3] * 2)
        self.assertEqual(len(consumer.steps), 6)
        self.assertEqual((consumer.batches, consumer.samples), ([], []))
        (text,) = consumer.texts["loader"]
        self.assertEqual((text["kind"], text["dataset_type"], text["batch_size"]), ("python", "Batches", 4))
        self.assertEqual((text["num_workers"], text["composition"]), (None, "unknown"))
        self.assertEqual([text["epoch"] for text in consumer.texts["iterator"]], [0, 1])
        process = consumer.texts["process"][-1]
        self.assertEqual((process["role"], process["framework"], process["torch"]), ("consumer", "python", ""))

    def test_batches_that_the_loop_makes_itself(self):
        result = self.fine(
            """
            import stallcast
            def batches():
                for number in range(3):
                    batch = []
                    for index in (2 * number, 2 * number + 1):
                        with stallcast.sample(index):
                            with open("data.bin", "rb", buffering=0) as file:
                                batch.append(file.read())
                    yield batch
            for batch in stallcast.wrap(batches(), workers=0, samples=2, name="train"):
                pass
            """
        )
        consumer = result.run.consumer
        (text,) = consumer.texts["loader"]
        self.assertEqual((text["dataset_type"], text["num_workers"], text["composition"]), ("train", 0, "serial"))
        made = [batch for batch in consumer.batches if batch.samples]
        self.assertEqual([(batch.batch, batch.worker, batch.samples) for batch in made],
                         [(number, UNKNOWN, 2) for number in range(3)])
        self.assertEqual([sample.index for sample in consumer.samples], list(range(6)))
        waits = consumer.deliveries()
        for batch, wait in zip(made, waits):
            self.assertTrue(wait.begin_ns <= batch.begin_ns <= batch.end_ns <= wait.end_ns)
            self.assertGreaterEqual(batch.reads, 2)
            self.assertGreaterEqual(batch.read_bytes, 2000)

    def setUp(self):
        with open(os.path.join(self.folder, "data.bin"), "wb") as file:
            file.write(b"x" * 1000)

    def test_batches_of_threads(self):
        result = self.fine(
            """
            import queue, threading
            import stallcast
            made = queue.Queue(2)
            def make():
                for number in range(4):
                    with stallcast.batch(number, worker=0, samples=5):
                        with stallcast.sample(number):
                            batch = open("data.bin", "rb").read()
                    made.put(batch)
                made.put(None)
            loop = stallcast.wrap(iter(made.get, None), workers=1, samples=5)
            threading.Thread(target=make).start()
            print(sum(len(batch) for batch in loop))
            """
        )
        self.assertEqual(result.out, "4000\n")
        consumer = result.run.consumer
        self.assertEqual([(batch.batch, batch.worker, batch.samples) for batch in consumer.batches],
                         [(number, 0, 5) for number in range(4)])
        (text,) = consumer.texts["iterator"]
        self.assertEqual({batch.iterator_id for batch in consumer.batches}, {text["iterator_id"]})
        self.assertEqual(len(consumer.deliveries()), 4)

    def test_an_endless_iterator_and_next(self):
        result = self.fine(
            """
            import itertools, stallcast
            batches = stallcast.wrap(itertools.count())
            print([next(batches) for _ in range(5)], iter(batches) is batches)
            """
        )
        self.assertEqual(result.out, "[0, 1, 2, 3, 4] True\n")
        self.assertEqual([wait.batch for wait in result.run.consumer.waits], list(range(5)))

    def test_lengths_and_truth_are_the_loader_s(self):
        content = """
            import stallcast
            class Sized:
                def __len__(self): return 7
                def __iter__(self): return iter("ab")
            class Unsized:
                def __iter__(self): return iter("ab")
            print(len(stallcast.wrap(Sized())), hasattr(stallcast.wrap(Unsized()), "__len__"))
            print(bool(stallcast.wrap(Unsized())), list(stallcast.wrap(Unsized())), list(stallcast.wrap(Sized())))
            print(bool(stallcast.wrap([])), [x for x in stallcast.wrap([[1], [2]])])
            """
        self.assertEqual(self.fine(content).out, self.run_script(content, shim=False, python_path=[SHIM]).out)

    def test_what_the_loader_raises_reaches_the_script(self):
        result = self.fine(
            """
            import stallcast
            def batches(number):
                yield 1
                raise (KeyError("mine"), KeyboardInterrupt(), GeneratorExit())[number]
            for number in range(3):
                for workers in (None, 0):
                    seen = 0
                    try:
                        for batch in stallcast.wrap(batches(number), workers=workers):
                            seen += 1
                    except BaseException as error:
                        print(seen, type(error).__name__)
            with stallcast.sample(3):
                pass
            try:
                with stallcast.sample("x"):
                    raise ValueError("of the block")
            except ValueError as error:
                print(error)
            """
        )
        self.assertEqual(result.out, "1 KeyError\n" * 2 + "1 KeyboardInterrupt\n" * 2 + "1 GeneratorExit\n" * 2
                         + "of the block\n")
        self.assertEqual(len(result.run.consumer.deliveries()), 6)
        self.assertEqual([sample.index for sample in result.run.consumer.samples], [3, -1])

    def test_loops_within_loops_count_once(self):
        result = self.fine(
            """
            import stallcast
            def inner():
                yield from stallcast.wrap([[1], [2]])
            print([list(batch) for batch in stallcast.wrap(inner(), name="outer")])
            """
        )
        self.assertEqual(len(result.run.consumer.deliveries()), 2)
        self.assertEqual({text["dataset_type"] for text in result.run.consumer.texts["loader"]}, {"outer"})

    def test_a_failure_of_ours_is_one_issue(self):
        for place in ("torch_loader.loader.announce", "states.phases.refuse_known", "api._describe",
                      "torch_loader.loader.Pass"):
            module, name = place.rsplit(".", 1)
            result = self.run_script(
                LOOP.replace("import stallcast\n", "import stallcast, stallcast_shim.%s as module\n"
                             "def broken(*arguments):\n    raise ZeroDivisionError('of ours')\n"
                             "module.%s = broken\n" % (module, name), 1)
            )
            self.assertEqual((result.status, result.err), (0, ""), place)
            self.assertTrue(result.out.startswith("1 list\n2 list\n3 list\n" * 2 + "own 4"), place)
            self.assertEqual([issue["id"] for issue in result.run.issues], ["shim-failed"], place)

    # --- without ---

    def test_without_a_run_it_does_nothing(self):
        result = self.run_script(LOOP, shim=False, python_path=[SHIM])
        self.assertEqual((result.status, result.err), (0, ""))
        self.assertEqual(result.out, "1 list\n2 list\n3 list\n" * 2 + "own 4 False\n")
        same = "import stallcast\nloader = []\nprint(stallcast.wrap(loader, workers=0) is loader)\n" \
               "with stallcast.sample(1), stallcast.batch(0): pass\n"
        self.assertEqual(self.run_script(same, shim=False, python_path=[SHIM]).out, "True\n")

    def test_a_script_without_stallcast(self):
        content = """
            try:
                import stallcast
            except ImportError:
                stallcast = None
            print([b for b in (stallcast.wrap([1, 2]) if stallcast else [1, 2])], stallcast is None)
            """
        self.assertEqual(self.run_script(content, shim=False).out, "[1, 2] True\n")
        self.assertEqual(self.fine(content).out, "[1, 2] False\n")

    def test_the_script_s_own_module_of_that_name_wins(self):
        own = os.path.dirname(self.write("own/stallcast.py", "wrap = 5"))
        result = self.fine("import stallcast; print(stallcast.wrap)", python_path=[own])
        self.assertEqual(result.out, "5\n")
        self.assertEqual(result.run.recordings, [])

    def test_a_copy_beside_the_script_records(self):
        with open(os.path.join(SHIM, "stallcast", "__init__.py")) as file:
            own = os.path.dirname(self.write("copy/stallcast.py", file.read()))
        result = self.fine("import stallcast; print(stallcast.__file__, list(stallcast.wrap([[1]])))", python_path=[own])
        self.assertEqual(result.out, own + "/stallcast.py [[1]]\n")
        self.assertEqual(len(result.run.consumer.deliveries()), 1)

    def test_the_import_alone_records_nothing(self):
        result = self.fine("import stallcast")
        self.assertEqual(result.run.recordings, [])


class TorchTest(ShimTest):
    NEEDS = "torch"

    def test_a_data_loader_needs_no_wrap(self):
        path = self.write(
            "script.py",
            """
            import stallcast, torch
            from torch.utils.data import DataLoader
            loader = DataLoader(torch.arange(10), batch_size=5)
            print(stallcast.wrap(loader) is loader)
            weight = torch.nn.Parameter(torch.zeros(1))
            optimizer = torch.optim.SGD([weight], lr=0.1)
            for batch in stallcast.wrap(loader):
                weight.grad = torch.ones(1)
                optimizer.step()
                stallcast.step()
            """,
        )
        result = self.python(path)
        self.assert_fine(result)
        self.assertEqual(result.out, "True\n")
        (text,) = result.run.consumer.texts["loader"]
        self.assertEqual(text["kind"], "map")
        self.assertEqual((len(result.run.consumer.deliveries()), len(result.run.consumer.steps)), (2, 2))

    def test_the_loader_that_keras_makes_on_torch(self):
        """It is torch's, over what Keras' own workers make ahead, if it has any: num_workers is not what helps."""
        for ahead, workers in ((True, None), (False, 0)):
            with self.subTest(ahead=ahead):
                path = self.write(
                    "script.py",
                    """
                    import torch
                    from torch.utils.data import DataLoader, IterableDataset
                    class ConverterIterableDataset(IterableDataset):
                        __module__ = "keras.src.trainers.data_adapters.data_adapter_utils"
                        def __init__(self, iterable):
                            self.iterable = iterable
                        def __iter__(self):
                            yield from self.iterable
                    class Adapter:
                        enqueuer = object() if %s else None
                        def batches(self):
                            for _ in range(4):
                                yield torch.zeros(2, 3)
                    weight = torch.nn.Parameter(torch.zeros(1))
                    optimizer = torch.optim.SGD([weight], lr=0.1)
                    for batch in DataLoader(ConverterIterableDataset(Adapter().batches()), batch_size=None):
                        weight.grad = torch.ones(1)
                        optimizer.step()
                    """ % ahead,
                )
                result = self.python(path)
                self.assertEqual((result.status, result.err), (0, ""))
                self.assertEqual([issue["id"] for issue in result.run.issues], ["samples-counted"])
                (text,) = result.run.consumer.texts["loader"]
                self.assertEqual((text["kind"], text["num_workers"]), ("keras", workers))
                self.assertEqual(len(result.run.consumer.deliveries()), 4)

    def test_a_loader_around_a_data_loader(self):
        """What the script waits for is what it has wrapped; the DataLoader within is part of that."""
        path = self.write(
            "script.py",
            """
            import stallcast, torch
            from torch.utils.data import DataLoader
            def doubled():
                for batch in DataLoader(torch.arange(10), batch_size=5):
                    yield 2 * batch
            print([batch.tolist() for batch in stallcast.wrap(doubled())])
            """,
        )
        result = self.python(path)
        self.assert_fine(result)
        self.assertEqual([wait.samples for wait in result.run.consumer.deliveries()], [5, 5])
        self.assertEqual(result.run.consumer.texts["process"][-1]["framework"], "pytorch")


if __name__ == "__main__":
    main()
