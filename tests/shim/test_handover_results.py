"""Batches that others make and the training asks for as results: of a pool, in a queue, as they are completed."""

from handover_case import LOADER, HandoverCase
from harness import main

RESULTS = LOADER + """
import queue, threading, time
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from multiprocessing.pool import ThreadPool
def slowly(batch, number):
    time.sleep(0.5 if number in (14, 17, 20, 23) else 0)  # a busy machine may part one of them from its result
    return batch
"""


class ResultsTest(HandoverCase):
    def assert_waited(self, consumer, where):
        self.assert_handed(consumer, where)
        self.assertGreaterEqual(max(wait.end_ns - wait.begin_ns for wait in consumer.deliveries()), 400000000)

    def test_queue_of_results(self):
        """As Keras' workers fill: which of the two calls waits differs."""
        for how, where in (("pool.apply_async(slowly, (batch, number))", "multiprocessing.pool.ApplyResult.get"),
                           ("done(slowly(batch, number))", "concurrent.futures.Future.result")):
            with self.subTest(how):
                (consumer,) = self.both(RESULTS + """
handed, pool = queue.Queue(2), ThreadPool(1)
def done(batch):
    future = Future()
    future.set_result(batch)
    return future
def feed():
    for number, batch in enumerate(loader):
        handed.put(HOW)
    handed.put(None)
threading.Thread(target=feed).start()
for result in iter(handed.get, None):
    train(*(result.get if hasattr(result, "get") else result.result)())
""".replace("HOW", how))
                self.assert_waited(consumer, where)

    def test_results_as_they_are_completed(self):
        (consumer,) = self.both(RESULTS + """
batches = iter(loader)
with ThreadPoolExecutor(1) as pool:
    for number in range(25):
        for future in as_completed([pool.submit(lambda: slowly(next(batches), number))]):
            train(*future.result())
""")
        self.assert_waited(consumer, "concurrent.futures.Future.result")

    def test_future(self):
        (consumer,) = self.both(LOADER + """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(1) as pool:
    batches = iter(loader)
    ahead = pool.submit(next, batches, None)
    while True:
        batch = ahead.result()
        if batch is None:
            break
        ahead = pool.submit(next, batches, None)
        train(*batch)
    try:
        pool.submit(int, "x").result()
    except ValueError as error:
        print(error)
""")
        self.assert_handed(consumer, "concurrent.futures.Future.result")


if __name__ == "__main__":
    main()
