"""The bookkeeping of phases, without torch: which batch belongs to which phase, which index list it is made from."""

import os
import sys
import unittest

sys.path.insert(0, os.environ["STALLCAST_TEST_SHIM"])

from stallcast_shim import phase_plan  # noqa: E402
from stallcast_shim.phase_plan import COLD, CACHED, END, SUPPLY_CACHED, SYNTHETIC, Issuer, Lists, Plan, Rounds, Segment  # noqa: E402


def segment(index, first, batches, phase, round_=0, workers=0):
    return Segment(index, first, batches, phase, round_, workers, 0, 0)


def plan_of(*segments):
    return Plan(lambda index: segments[index] if index < len(segments) else None)


def issue_all(issuer):
    items = []
    while True:
        item = issuer.next()
        if item is None:
            return items
        items.append(item)


class PlanTest(unittest.TestCase):
    def test_passes_that_follow_each_other_without_end(self):
        plan = plan_of(segment(0, 2, 3, COLD), segment(1, 8, 3, COLD), segment(2, 13, 3, COLD), segment(3, 17, 3, COLD))
        issuer = Issuer(plan, 0, 10, period=5)  # passes end at 10, 15, 20
        issuer.check()
        taken = [plan.covering(turn) for turn in (2, 8, 13, 17)]
        self.assertEqual([found is not None for found in taken], [True, False, False, False])
        issuer = Issuer(plan_of(segment(0, 11, 3, COLD)), 0, 10, period=5)
        issuer.check()
        self.assertIsNotNone(issuer.plan.covering(11))

    def test_turns_belong_to_the_segment_that_covers_them(self):
        plan = plan_of(segment(0, 3, 3, COLD), segment(1, 6, 3, CACHED))
        plan.refresh()
        phases = [getattr(plan.covering(turn), "phase", None) for turn in range(10)]
        self.assertEqual(phases, [None] * 3 + [COLD] * 3 + [CACHED] * 3 + [None])

    def test_a_refused_segment_is_run_as_found(self):
        plan = plan_of(segment(0, 3, 3, COLD))
        plan.refresh()
        plan.refuse(plan.covering(3))
        self.assertIsNone(plan.covering(4))

    def test_the_end_holds_from_its_turn_on(self):
        plan = plan_of(segment(0, 7, 0, END))
        plan.refresh()
        self.assertEqual([plan.ends(turn) for turn in (6, 7, 8)], [False, True, True])

    def test_an_earlier_end_replaces_the_one_before(self):
        plan = plan_of(segment(0, 2, 9, SYNTHETIC), segment(1, 11, 0, END), segment(2, 5, 0, END))
        plan.refresh()
        self.assertEqual(plan.end(), 5)
        self.assertEqual([plan.ends(turn) for turn in (4, 5)], [False, True])

    def test_what_is_not_published_is_not_read(self):
        read = []
        plan = Plan(lambda index: read.append(index), lambda: 0)
        plan.refresh()
        self.assertEqual(read, [])

    def test_rounds_share_their_index_lists(self):
        numbers = iter(range(100))
        rounds = Rounds(lambda: next(numbers))
        cold, cached, next_round = segment(0, 0, 3, COLD), segment(1, 3, 3, CACHED), segment(2, 6, 3, COLD, 1)
        self.assertEqual([rounds.index(cold, i) for i in range(3)], [0, 1, 2])
        self.assertEqual([rounds.index(cached, i) for i in range(3)], [0, 1, 2])
        self.assertEqual([rounds.index(next_round, i) for i in range(3)], [3, 4, 5])

    def test_a_longer_cached_block_goes_over_the_lists_again(self):
        numbers = iter(range(100))
        rounds = Rounds(lambda: next(numbers))
        cold, cached = segment(0, 0, 3, COLD), segment(1, 3, 7, CACHED)._replace(lists=3)
        self.assertEqual([rounds.index(cold, i) for i in range(3)], [0, 1, 2])
        self.assertEqual([rounds.index(cached, i) for i in range(7)], [0, 1, 2, 0, 1, 2, 0])
        half = segment(2, 10, 3, phase_plan.CACHED + 20)._replace(seed=1)  # which chooses the half
        self.assertEqual([rounds.index(half, i) for i in range(3)], [0, 1, 2])


class IssuerTest(unittest.TestCase):
    def test_synthetic_turns_take_no_index_list(self):
        issuer = Issuer(plan_of(segment(0, 2, 3, SYNTHETIC)), 0, 8)
        self.assertEqual([item.number for item in issue_all(issuer)], [0, 1, 5, 6, 7])

    def test_workers_rest_until_the_script_has_all_replayed_batches(self):
        issuer = Issuer(plan_of(segment(0, 2, 3, SYNTHETIC), segment(1, 5, 2, SUPPLY_CACHED)), 0, 9)
        self.assertFalse(issuer.rests(0))
        self.assertEqual([issuer.next().number, issuer.next().number], [0, 1])
        self.assertEqual([issuer.rests(taken) for taken in range(6)], [True, True, True, True, True, False])
        self.assertGreaterEqual(issuer.next().number, phase_plan.SUPPLY_NUMBERS)

    def test_supply_batches_before_replayed_ones_are_made_first(self):
        issuer = Issuer(plan_of(segment(0, 2, 2, SUPPLY_CACHED), segment(1, 2, 3, SYNTHETIC)), 0, 9)
        numbers = []
        while not issuer.rests(0):
            numbers.append(issuer.next().number)
        self.assertEqual(numbers[:2], [0, 1])
        self.assertEqual([number - phase_plan.SUPPLY_NUMBERS for number in numbers[2:]], [0, 1])

    def test_supply_batches_come_before_their_turn_and_take_none(self):
        issuer = Issuer(plan_of(segment(0, 2, 2, SUPPLY_CACHED)), 0, 4)
        numbers = [item.number for item in issue_all(issuer)]
        self.assertEqual(numbers[:2] + numbers[4:], [0, 1, 2, 3])
        self.assertEqual([number - phase_plan.SUPPLY_NUMBERS for number in numbers[2:4]], [0, 1])

    def test_a_pass_keeps_its_length_whatever_the_schedule(self):
        # What the script gets: one batch for each index list that is no supply, and one for each synthetic turn.
        segments = (
            segment(0, 4, 5, COLD), segment(1, 9, 5, CACHED), segment(2, 14, 4, SYNTHETIC),
            segment(3, 18, 6, SUPPLY_CACHED), segment(4, 18, 5, COLD, 1), segment(5, 23, 9, CACHED, 1),
        )
        for length in range(1, 60):
            plan = plan_of(*segments)
            issuer = Issuer(plan, 0, length)
            made = [item for item in issue_all(issuer) if item.number < phase_plan.SUPPLY_NUMBERS]
            replayed = [turn for turn in range(length) if getattr(plan.covering(turn), "phase", None) == SYNTHETIC]
            self.assertEqual(len(made) + len(replayed), length, length)
            self.assertEqual(made[-1].number, length - 1, "the last batch of a pass is the script's own")
            self.assertIsNone(made[-1].segment)

    def test_what_was_published_too_late_is_missed_as_a_whole(self):
        published = []
        plan = Plan(lambda index: published[index] if index < len(published) else None)
        issuer = Issuer(plan, 0, 20)
        for _ in range(6):
            issuer.next()
        published.append(segment(0, 5, 4, COLD))
        published.append(segment(1, 9, 4, CACHED))
        phases = [item.segment.phase if item.segment else None for item in issue_all(issuer)]
        self.assertEqual(issuer.missed, 1)
        self.assertEqual(phases, [None] * 3 + [CACHED] * 4 + [None] * 7)

    def test_what_an_earlier_pass_ran_is_not_missed_by_the_next(self):
        issuer = Issuer(plan_of(segment(0, 5, 4, COLD), segment(1, 24, 4, COLD)), 20, 40)
        self.assertEqual([item.number for item in issue_all(issuer) if item.segment], [24, 25, 26, 27])
        self.assertEqual(issuer.missed, 0)

    def test_a_segment_over_the_end_of_a_pass_is_refused_and_not_missed(self):
        issuer = Issuer(plan_of(segment(0, 5, 5, COLD)), 0, 10)
        self.assertTrue(all(item.segment is None for item in issue_all(issuer)))
        self.assertEqual(issuer.missed, 0)

    def test_a_supply_segment_before_the_next_pass_is_not_made_in_this_one(self):
        plan = plan_of(segment(0, 6, 3, SUPPLY_CACHED))
        self.assertEqual([item.number for item in issue_all(Issuer(plan, 0, 6))], list(range(6)))
        numbers = [item.number for item in issue_all(Issuer(plan, 6, 9))]
        self.assertEqual([number >= phase_plan.SUPPLY_NUMBERS for number in numbers], [True] * 3 + [False] * 3)

    def test_a_further_pass_misses_nothing_of_the_one_before(self):
        plan = plan_of(segment(0, 2, 3, COLD), segment(1, 5, 3, CACHED), segment(2, 12, 3, COLD, 1))
        issue_all(Issuer(plan, 0, 10))
        issuer = Issuer(plan, 10, 20)
        phases = [item.segment.phase if item.segment else None for item in issue_all(issuer)]
        self.assertEqual(phases, [None] * 2 + [COLD] * 3 + [None] * 5)
        self.assertEqual(issuer.missed, 0)

    def test_a_segment_that_the_pass_before_ended_within_is_not_gone_on_with(self):
        plan = plan_of(segment(0, 2, 6, COLD))
        issue_all(Issuer(plan, 0, 10))
        issuer = Issuer(plan, 5, 15)  # the script left the pass before at turn 5
        self.assertTrue(all(item.segment is None for item in issue_all(issuer)))
        self.assertEqual(issuer.missed, 0)

    def test_a_pass_that_was_left_refuses_nothing_of_the_next(self):
        plan = plan_of(segment(0, 6, 6, COLD))
        ahead = Issuer(plan, 0, 10)
        self.assertTrue(all(item.segment is None for item in issue_all(ahead)))  # it does not fit before turn 10
        phases = [item.segment.phase if item.segment else None for item in issue_all(Issuer(plan, 6, 16))]
        self.assertEqual(phases, [COLD] * 6 + [None] * 4)

    def test_an_unknown_length_ends_nothing(self):
        issuer = Issuer(plan_of(segment(0, 5, 5, COLD)), 0, None)
        numbers = [issuer.next().number for _ in range(50)]
        self.assertEqual(numbers, list(range(50)))


class ListsTest(unittest.TestCase):
    def test_the_last_list_is_kept_for_the_last_batch(self):
        lists = Lists(iter("abcz"))
        self.assertEqual([lists.draw() for _ in range(3)], list("abc"))
        self.assertEqual(lists.last(), "z")

    def test_what_lies_between_is_not_used(self):
        lists = Lists(iter("abcz"))
        lists.draw()
        self.assertEqual(lists.last(), "z")

    def test_lists_come_again_where_more_are_drawn_than_there_are(self):
        lists = Lists(iter("abz"))
        self.assertEqual([lists.draw() for _ in range(7)], list("ab" "abab" "a"))
        self.assertEqual(lists.last(), "z")

    def test_a_pass_of_one_batch(self):
        self.assertEqual(Lists(iter("z")).last(), "z")
        lists = Lists(iter("z"))
        self.assertEqual([lists.draw(), lists.draw(), lists.last()], ["z"] * 3)

    def test_an_empty_pass(self):
        with self.assertRaises(StopIteration):
            Lists(iter("")).draw()


if __name__ == "__main__":
    unittest.main()
