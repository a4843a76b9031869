"""What a pass will draw is told from the list that a sampler of the user's own goes through."""

import sys

import harness

sys.path.insert(0, harness.SHIM)


class Order(harness.ShimTest):
    """Samplers of the user's own, whose order lies ready when they go through it."""

    NEEDS = "torch"

    def samplers(self):
        import numpy
        import torch
        from torch.utils.data import BatchSampler

        made = torch.randperm(53).tolist()
        yield "returns an iterator", BatchSampler(Own(lambda: iter(made)), 4, False)
        yield "goes through a list", BatchSampler(Own(lambda: (index for index in made)), 4, True)
        yield "yields from a list", BatchSampler(Own(lambda: yielding(list(made))), 4, False)
        yield "through two generators", BatchSampler(Own(lambda: yielding(yielding(made))), 4, False)
        yield "numbers of numpy", BatchSampler(Own(lambda: iter(list(numpy.random.permutation(53)))), 4, False)
        yield "a range", BatchSampler(Own(lambda: iter(range(5, 50))), 4, False)
        yield "another list beside it", BatchSampler(Own(lambda: weighing(made)), 4, False)
        yield "batches", Own(lambda: iter([made[at : at + 4] for at in range(0, 53, 4)]))
        yield "batches that are yielded", Own(lambda: yielding([made[at : at + 4] for at in range(0, 53, 4)]))
        yield "single", Own(lambda: iter(made))

    def test_what_follows_is_what_is_drawn(self):
        for name, sampler in self.samplers():
            with self.subTest(name):
                iterator, told, drawn = draw(sampler, 5)
                self.assertIsNone(told.why_not)
                ahead = told.lists(5, 100)
                rest = list(iterator)
                self.assertGreater(len(rest), 5)
                self.assertEqual(ahead, rest)
                self.assertEqual(told.length(), 5 + len(rest))
                self.assertEqual(told.lists(2, 3), drawn[2:])
                for number, index in enumerate(rest):
                    told.drawn(5 + number, index, iterator)
                self.assertIsNone(told.why_not)

    def test_one_order_after_the_other(self):
        import torch
        from torch.utils.data import BatchSampler

        def endless():
            while True:
                yield from torch.randperm(30).tolist()

        iterator, told, drawn = draw(BatchSampler(Own(endless), 4, False), 5)
        lengths = set()
        for number in range(5, 60):
            drawn.append(next(iterator))
            if not told.is_being_checked():
                ahead = told.lists(number, 1)
                if number < told.length() - 1:
                    self.assertEqual(ahead, drawn[-1:])
                lengths.add(told.length())
            told.drawn(number, drawn[-1], iterator)
        self.assertIsNone(told.why_not)
        self.assertGreater(len(lengths), 4)

    def test_orders_that_are_over_at_once_are_given_up(self):
        def pools():
            for pool in range(30):
                yield from list(range(8 * pool, 8 * pool + 8))

        _, told, _ = draw(batches_of_4(Own(pools)), 12)
        self.assertFalse(told.is_being_checked())
        self.assertIn("is not one that can be told ahead", told.why_not)

    def test_what_was_given_lately_is_still_known(self):
        iterator, told, drawn = draw(Own(lambda: iter(list(range(5000)))), 5)
        for number in range(5, 3000):
            drawn.append(next(iterator))
            told.drawn(number, drawn[-1], iterator)
            if number > 300:
                self.assertEqual(told.lists(number - 300, 2), drawn[number - 300 : number - 298])
        self.assertEqual(told.lists(2800, 8), drawn[2800:2808])

    def test_what_the_user_made_is_not_compared(self):
        class Index:
            def __eq__(self, other):
                raise AssertionError("it was compared")

            __hash__ = None

        made = [Index() for _ in range(40)]
        iterator, told, _ = draw(Own(lambda: iter(made)), 5)
        self.assertFalse(told.is_being_checked())
        told.drawn(5, Index(), iterator)
        self.assertIn("Own", told.why_not)

    def test_what_is_no_number_is_not_told(self):
        _, told, _ = draw(Own(lambda: iter([(index, 224) for index in range(40)])), 5)
        self.assertIsNone(told.why_not)
        self.assertEqual(told.lists(5, 1), [])
        self.assertEqual(told.why_not, "the sampler gives no whole numbers")

    def test_a_list_that_shrinks_meanwhile_harms_nothing(self):
        def shrinking():
            order = list(range(40))
            while order:
                for index in order:
                    order.pop(0)
                    yield index

        _, told, _ = draw(Own(shrinking), 12)
        self.assertIsNotNone(told.why_not)

    def test_nothing_is_told_before_some_came_true(self):
        for drawn in (1, 3):
            _, told, _ = draw(Own(lambda: iter(list(range(40)))), drawn)
            self.assertTrue(told.is_being_checked())
            self.assertEqual(told.lists(drawn, 4), [])
            self.assertIsNone(told.length())

    def test_what_a_sampler_does_beside_going_through_it_ends_it(self):
        def skipping():
            for index in list(range(40)):
                if index % 7:
                    yield index

        def steered():
            order = list(range(40))
            for place in range(40):
                yield order[place] if place < 9 else order[-place]

        for begin in (skipping, steered):
            _, told, _ = draw(Own(begin), 12)
            self.assertIn("is not one that can be told ahead", told.why_not)
            self.assertEqual(told.lists(12, 4), [])

    def test_no_order_is_none(self):
        import itertools

        for begin in (lambda: Counting(40), lambda: map(int, list(range(40))), lambda: itertools.cycle(range(9))):
            _, told, _ = draw(Own(begin), 5)
            self.assertIn("Own", told.why_not)

    def test_a_list_of_the_users_own_class_is_not_asked(self):
        class Mine(list):
            def __iter__(self):
                return list.__iter__(self)

            def __getitem__(self, place):
                raise AssertionError("it was asked")

        _, told, _ = draw(Own(lambda: iter(Mine(range(40)))), 5)
        self.assertIn("Own", told.why_not)

    def test_what_the_sampler_holds_lives_no_longer(self):
        ended = []

        def careful():
            try:
                yield from list(range(40))
            finally:
                ended.append(True)

        iterator, told, _ = draw(Own(careful), 3)
        del iterator
        self.assertEqual(ended, [True])
        self.assertEqual(told.why_not, "the pass is over")


def draw(sampler, count):
    """(what torch would draw from, what is told, `count` lists that were drawn)."""
    from stallcast_shim.states import prediction

    iterator = iter(sampler)
    told, drawn = prediction.of(sampler), []
    for number in range(count):
        drawn.append(next(iterator))
        told.drawn(number, drawn[-1], iterator)
    return iterator, told, drawn


def batches_of_4(sampler):
    from torch.utils.data import BatchSampler

    return BatchSampler(sampler, 4, False)


def yielding(items):
    for item in items:
        yield item


def weighing(items):
    for _ in [None]:
        yield from items


class Own:
    def __init__(self, begin):
        self.begin = begin

    def __iter__(self):
        return self.begin()


class Counting:
    """An iterator of a class of its own."""

    def __init__(self, most):
        self.at, self.most = -1, most

    def __iter__(self):
        return self

    def __next__(self):
        self.at += 1
        if self.at >= self.most:
            raise StopIteration
        return self.at


if __name__ == "__main__":
    harness.main()
