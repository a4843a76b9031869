"""Batches that the training gets from another thread or process: where it waits for them is found, and timed."""

import loop_job
from handover_case import FED, LOADER, HandoverCase
from harness import main


class HandoverTest(HandoverCase):
    def test_queue(self):
        (consumer,) = self.both(LOADER + FED + """
import inspect
for x, y in iter(handed.get, None):
    train(x, y)
try:
    handed.get(timeout=0.001)
except queue.Empty as error:
    print(repr(error))
print(inspect.signature(queue.Queue.get))
""")
        self.assert_handed(consumer, "queue.Queue.get")

    def test_event(self):
        (consumer,) = self.both(LOADER + """
import collections, threading
handed, filled, room = collections.deque(), threading.Event(), threading.Event()
def feed():
    for batch in [*loader, None]:
        handed.append(batch)
        filled.set()
        room.wait()
        room.clear()
threading.Thread(target=feed).start()
while True:
    filled.wait()
    filled.clear()
    batch = handed.popleft()
    room.set()
    if batch is None:
        break
    train(*batch)
""")
        (text,) = [text for text in consumer.texts["loader"] if text["kind"] == "queue"]
        self.assertIn("threading.Event.wait", text["dataset_type"])
        self.assertEqual(self.handed(consumer)[1][:19], [4] * 19)  # and once more, at the end

    def test_thread_that_is_joined(self):
        (consumer,) = self.both(LOADER + """
import threading
batches, got = iter(loader), []
def fetch():
    got.append(next(batches, None))
def start():
    thread = threading.Thread(target=fetch)
    thread.start()
    return thread
thread = start()
while True:
    thread.join()
    batch = got.pop()
    if batch is None:
        break
    thread = start()
    train(*batch)
""")
        self.assertIn("threading.Thread.join", self.handed(consumer)[0])
        self.assertEqual(sum(self.handed(consumer)[1]), 4 * 20)

    def test_event_loop(self):
        (consumer,) = self.both(LOADER + """
import asyncio
async def run():
    loop, batches = asyncio.get_running_loop(), iter(loader)
    ahead = loop.run_in_executor(None, next, batches, None)
    while True:
        batch = await ahead
        if batch is None:
            break
        ahead = loop.run_in_executor(None, next, batches, None)
        train(*batch)
asyncio.run(run())
""")
        self.assertEqual(len(self.marks(consumer)), 1)
        self.assertEqual(self.handed(consumer)[0], "selectors.EpollSelector.select")
        self.assertIn(sum(self.handed(consumer)[1]), (4 * 19, 4 * 20))

    def test_a_class_of_the_script(self):
        # No daemon thread: torch aborts where one frees tensors while the interpreter ends, whoever watches.
        (consumer,) = self.both(LOADER + """
import collections, threading
class Ahead:
    def __init__(self):
        self.batches, self.changed = collections.deque(), threading.Condition()
        self.thread = threading.Thread(target=self.feed)
        self.thread.start()
    def feed(self):
        for batch in [*loader, None]:
            with self.changed:
                self.changed.wait_for(lambda: len(self.batches) < 2)
                self.batches.append(batch)
                self.changed.notify_all()
    def __iter__(self):
        return self
    def __next__(self):
        with self.changed:
            self.changed.wait_for(lambda: self.batches)
            batch = self.batches.popleft()
            self.changed.notify_all()
        if batch is None:
            raise StopIteration
        return batch
for x, y in Ahead():
    train(x, y)
""")
        self.assert_handed(consumer, "Ahead.__next__")

    def test_what_is_made_of_a_batch_is_no_batch(self):
        (consumer,) = self.both(LOADER + """
import queue, threading
def scaled(x):
    return x / 2
handed = queue.SimpleQueue()
def feed():
    for batch in [*loader, None]:
        handed.put(batch)
threading.Thread(target=feed).start()
for x, y in iter(handed.get, None):
    train(scaled(x), y)
""")
        self.assertEqual(len(self.marks(consumer)), 1)
        self.assertIsNone(self.handed(consumer))  # C code hands over: it cannot be timed

    def test_process(self):
        (consumer,) = self.both(LOADER + """
import multiprocessing
context = multiprocessing.get_context("fork")
def feed(handed, is_over):
    for x, y in loader:
        handed.put((x.numpy(), y.numpy()))
    handed.put(None)
    is_over.wait()
handed, is_over = context.Queue(2), context.Event()
producer = context.Process(target=feed, args=(handed, is_over))
producer.start()
for x, y in iter(handed.get, None):
    train(torch.from_numpy(x), torch.from_numpy(y))
is_over.set()
producer.join()
""")
        self.assert_handed(consumer, "multiprocessing.queues.Queue.get", batches=20, is_in_thread=False)

    def test_a_queue_beside_the_batches(self):
        (consumer,) = self.both("""
import queue
def get_batch():
    ix = torch.randint(100, (4,))
    return data[ix], ix % 2
kept = queue.Queue()
for step in range(20):
    x, y = get_batch()
    train(x, y)
    kept.put(y + 0.5)
    kept.get()
""")
        self.assertEqual([text["dataset_type"] for text in consumer.texts["loader"]], ["get_batch"])

    def test_a_pool_within_the_function_that_makes_batches(self):
        for collect in ("list(pool.map(load, range(4)))", "[one.result() for one in [pool.submit(load, i) for i in range(4)]]"):
            (consumer,) = self.both(
                """
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(2)
def load(i):
    return data[i]
def get_batch():
    return torch.stack(%s), torch.arange(4) %% 2
for step in range(25):
    train(*get_batch())
"""
                % collect
            )
            self.assertIsNone(self.handed(consumer))
            self.assertEqual({wait.samples for wait in consumer.deliveries()}, {4})

    def test_a_queue_of_something_else_beside_batches_that_are_moved(self):
        (consumer,) = self.both(
            """
import queue
kept = queue.Queue()
def get_batch():
    return data[:4].clone(), torch.arange(4) % 2
for step in range(25):
    kept.put(torch.zeros(7))
    x, y = get_batch()
    kept.get()
    train(x + 0, y)
"""
        )
        self.assertIsNone(self.handed(consumer))
        self.assertEqual({wait.samples for wait in consumer.deliveries()}, {4})

    def test_a_queue_of_a_manager_is_one_wait(self):
        (consumer,) = self.both(
            """
import multiprocessing
def feed(handed):
    for step in range(25):
        handed.put((data[:4].numpy(), [0, 1, 0, 1]))
    handed.put(None)
manager = multiprocessing.get_context("fork").Manager()
handed = manager.Queue(2)
process = multiprocessing.get_context("fork").Process(target=feed, args=(handed,))
process.start()
for x, y in iter(handed.get, None):
    train(torch.from_numpy(x), torch.tensor(y))
process.join()
manager.shutdown()
"""
        )
        self.assertEqual(self.handed(consumer)[0], "multiprocessing.managers.BaseProxy._callmethod")
        self.assertEqual(set(self.handed(consumer)[1]), {4})
        self.assertLessEqual(len(self.handed(consumer)[1]), 25)

    def test_a_wait_in_several_tries_is_one(self):
        (consumer,) = self.both(LOADER + """
import queue, threading, time
handed = queue.Queue(2)
def feed():
    for number, batch in enumerate(loader):
        if number == 20:
            time.sleep(0.5)
        handed.put(batch)
    handed.put(None)
threading.Thread(target=feed).start()
while True:
    try:
        batch = handed.get(timeout=0.1)
    except queue.Empty:
        continue
    if batch is None:
        break
    train(*batch)
""")
        self.assert_handed(consumer, "queue.Queue.get")
        self.assertGreaterEqual(max(wait.end_ns - wait.begin_ns for wait in consumer.deliveries()), 400000000)

    def test_a_thread_that_only_steps(self):
        (consumer,) = self.both(LOADER + """
import queue, threading
asked, done = queue.Queue(1), queue.Queue(1)
def step():
    for gradients in iter(asked.get, None):
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        done.put(gradients)
threading.Thread(target=step).start()
for x, y in loader:
    loss_of(x, y).backward()
    asked.put(torch.cat([p.grad.flatten() for p in model.parameters()]))
    done.get()
asked.put(None)
""")
        self.assertEqual(self.marks(consumer), [])
        self.assertIsNone(self.handed(consumer))
        self.assertEqual([wait.samples for wait in consumer.waits][:25], [4] * 25)

    def test_a_loader_that_the_training_thread_takes_from_is_left_alone(self):
        (consumer,) = self.both(LOADER + """
import queue
kept = queue.Queue()
for x, y in loader:
    kept.put(x)
    train(kept.get(), y)
""")
        self.assertEqual(self.marks(consumer), [])
        self.assertEqual([text["kind"] for text in consumer.texts["loader"]], ["map"])

    def test_forked_children_are_left_alone(self):
        (consumer,) = self.both(LOADER + FED + """
import os
for number, (x, y) in enumerate(iter(handed.get, None)):
    train(x, y)
    if number == 12:
        child = os.fork()
        if child == 0:
            own = queue.Queue()
            own.put((x, y))
            own.get()
            os._exit(0)
        print(os.waitpid(child, 0)[1])
""")
        self.assert_handed(consumer, "queue.Queue.get")

    def test_a_training_beside_the_training_is_not_waited_for(self):
        """Each would be held until the other one is, and they are at different turns."""
        path = self.write("beside.py", loop_job.HEAD + """
import os
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(data, torch.arange(100) % 2), batch_size=2, num_workers=1)
def run(passes, at=None):
    child = None
    for epoch in range(passes):
        for x, y in loader:
            train(x, y)
            if at == 0:
                child = os.fork()
                if child == 0:
                    run(1)
                    os._exit(0)
            at = None if at is None else at - 1
    if child:
        print(os.waitpid(child, 0)[1])
run(2, at=3)
""")
        segments = [(12, 4, 3, 0, 0, 0, 0, 0), (24, 4, 3, 0, 0, 0, 0, 0), (36, 0, 15, 0, 0, 0, 0, 0)]
        result = self.python(path, segments=segments)
        self.assert_fine(result)
        recordings = [one for one in result.run.recordings if one.steps]
        child, training = sorted(recordings, key=lambda one: len(one.steps))
        self.assertEqual((len(child.steps), len(training.steps)), (50, 100))
        self.assertEqual(child.texts["segment"], [])
        self.assertEqual([burst.get("refused") for burst in training.texts["burst"]], [None, None])


if __name__ == "__main__":
    main()
