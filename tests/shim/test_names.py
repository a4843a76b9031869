"""Tables of names in data sets are found, and nothing of the user's runs meanwhile."""

import json
import os
import pathlib
import pickle
import sys
import tempfile
import time
import types
import unittest

sys.path.insert(0, os.environ["STALLCAST_TEST_SHIM"])

from stallcast_shim import at_once  # noqa: E402
from stallcast_shim.states import answer  # noqa: E402
from stallcast_shim.states.names import Names  # noqa: E402

PATHS = ["/data/%02d.jpg" % (7 * index % 100) for index in range(30)]


class Holder:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)

    def __getattr__(self, name):
        raise AssertionError("it was asked for " + name)

    def __len__(self):
        raise AssertionError("it was asked for its length")

    def __getitem__(self, index):
        raise AssertionError("a sample was made")


def tables(dataset, samples=30, indices=(3, 4)):
    return [table.told(indices) for table in Names(dataset, samples).names()]


class NamesTest(unittest.TestCase):
    EXPECTED = [[3, PATHS[3]], [4, PATHS[4]]]

    def test_a_list_of_paths(self):
        self.assertEqual(tables(Holder(paths=PATHS)), [self.EXPECTED])
        self.assertEqual(tables(Holder(paths=tuple(map(pathlib.Path, PATHS)))), [self.EXPECTED])

    def test_pairs_as_of_an_image_folder_count_once(self):
        pairs = [(path, 1) for path in PATHS]
        self.assertEqual(tables(Holder(samples=pairs, imgs=pairs, targets=[1] * 30)), [self.EXPECTED])

    def test_rows_and_columns(self):
        rows = [{"image": path, "label": "cat"} for path in PATHS]
        self.assertEqual(tables(Holder(rows=rows)), [self.EXPECTED, [[3, "cat"], [4, "cat"]]])
        self.assertEqual(tables(Holder(columns={"image": PATHS})), [self.EXPECTED])

    def test_what_looks_like_a_path_comes_first(self):
        rows = [{"label": "cat", "file": "a.jpg", "image": path} for path in PATHS]
        found = tables(Holder(rows=rows))
        self.assertEqual(found[0], self.EXPECTED)
        self.assertEqual([entries[0][1] for entries in found], [PATHS[3], "a.jpg", "cat"])

    def test_within_other_objects(self):
        self.assertEqual(tables(Holder(reader=Holder(samples=PATHS))), [self.EXPECTED])

    def test_a_subset(self):
        whole = Holder(samples=["/other"] * 5 + PATHS)
        self.assertEqual(tables(Holder(dataset=whole, indices=list(range(5, 35)))), [self.EXPECTED])
        twice = Holder(dataset=Holder(dataset=whole, indices=list(range(5, 35))), indices=list(range(29, -1, -1)))
        self.assertEqual(tables(twice), [[[3, PATHS[26]], [4, PATHS[25]]]])

    def test_data_sets_one_after_the_other(self):
        first = Holder(paths=PATHS[:4], labels=["cat"] * 4)
        second = Holder(dataset=Holder(paths=PATHS), indices=list(range(4, 30)))
        joined = Holder(datasets=[first, second], cumulative_sizes=[4, 30])
        self.assertEqual(tables(joined)[0], self.EXPECTED)
        self.assertEqual(tables(Holder(dataset=joined, indices=[9, 3, 4]), 3, (1, 2))[0], [[1, PATHS[3]], [2, PATHS[4]]])
        self.assertEqual(tables(Holder(datasets=[first], cumulative_sizes=[5]), 30), [])

    def test_numbers_that_may_be_places_in_files_come_first(self):
        rows = [[index % 3, 100000 * index, 99000] for index in range(30)]
        ends = [70000 * index for index in range(31)]
        dataset = Holder(rows=rows, ends=ends, labels=[1] * 30, seen=[True] * 30)
        found = [(table.where, table.told((3, 4)), are_large) for table, are_large in Names(dataset, 30).numbers((3, 4))]
        self.assertEqual(found, [(".rows[1]", [[3, 300000], [4, 400000]], True), (".rows[2]", [[3, 99000], [4, 99000]], True),
                                 (".ends", [[3, 210000], [4, 280000]], True), (".rows[0]", [[3, 0], [4, 1]], False),
                                 (".labels", [[3, 1], [4, 1]], False)])

    def test_telling_ends_in_time(self):
        (table,) = Names(Holder(paths=PATHS), 30).names()
        self.assertEqual(table.told(range(30), time.monotonic() + 60), [[index, path] for index, path in enumerate(PATHS)])
        self.assertEqual(table.told(range(30), time.monotonic()), [])

    def test_the_last_batches(self):
        batches = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
        for as_wholes, most, expected in ((False, 5, [[5, 6], [7, 8, 9]]), (True, 5, [[7, 8, 9]]), (False, 2, [[8, 9]]),
                                          (True, 2, [[7, 8, 9]]), (True, 9, batches), (False, 9, batches)):
            self.assertEqual(answer._last(batches, most, as_wholes), expected)

    def test_a_dictionary_by_numbers_that_a_table_holds(self):
        numbers = [1000 - 7 * index for index in range(30)]

        def coco():
            images = {number: {"id": number, "file_name": path} for number, path in zip(numbers, PATHS)}
            return Holder(ids=list(numbers), coco=Holder(imgs=images, anns={}, cats={1: {"name": "cat"}}))

        self.assertEqual(tables(coco()), [self.EXPECTED])
        both = Holder(datasets=[coco(), coco()], cumulative_sizes=[30, 60])
        self.assertEqual(tables(both, 60, (3, 34)), [[[3, PATHS[3]], [34, PATHS[4]]]])
        few = Holder(ids=[7, 8], coco=Holder(imgs={8: {"file_name": "8.jpg"}, 7: {"file_name": "7.jpg"}}))
        self.assertEqual(tables(Holder(datasets=[coco(), few], cumulative_sizes=[30, 32]), 32, (4, 31)),
                         [[[4, PATHS[4]], [31, "8.jpg"]]])

    def test_names_of_other_alphabets_fit_into_texts(self):
        entries = [[index, "/\u753b\u50cf/\u00e9t\u00e9/%06d.jpg" % index] for index in range(3000)]
        texts = []
        real, answer.capture.text = answer.capture.text, lambda kind, text: texts.append(text)
        try:
            answer._tell_entries(1, "names", types.SimpleNamespace(where=".paths"), entries, answer._Left())
        finally:
            answer.capture.text = real
        self.assertEqual([entry for text in texts for entry in text["names"]], entries)
        self.assertLess(max(len(json.dumps(text)) for text in texts), 16000)

    def test_batches_that_are_made_at_once_are_known_without_asking(self):
        try:
            from torch.utils.data import Subset
        except ImportError:
            self.skipTest("needs torch")
        if not hasattr(Subset, "__getitems__"):
            self.skipTest("this torch knows of no such calls")

        class Table(Holder):
            def __getitems__(self, indices):
                raise AssertionError("it was asked")

        for dataset, expected in ((Table(), True), (Holder(), False), (Subset(Table(), [1]), True), (Subset(Holder(), [1]), False),
                                  (Subset(Subset(Table(), [1]), [0]), True)):
            self.assertEqual(at_once.makes_at_once(dataset), expected)

    def test_keys_are_not_asked_for_their_text(self):
        class Key:
            def __str__(self):
                raise AssertionError("it was asked for its text")

            __format__ = __repr__ = __str__

        rows = [{Key(): "a.jpg", "image": path} for path in PATHS]
        self.assertEqual(tables(Holder(rows=rows, options={"a": Holder(x=1), Key(): Holder(y=1)})), [self.EXPECTED])

    def test_keys_that_may_do_anything_are_not_looked_up(self):
        class Key:
            def __hash__(self):
                return hash(5)

            def __eq__(self, other):
                raise AssertionError("it was compared")

        self.assertEqual(tables(Holder(ids=[5] * 30, images={Key(): "a.jpg"}, more={5: "b.jpg", Key: "c"})), [])

    def test_a_list_of_classes_by_labels(self):
        found = tables(Holder(classes=["cat", "dog"], labels=[index % 2 for index in range(30)], paths=PATHS))
        self.assertEqual(found, [self.EXPECTED, [[3, "dog"], [4, "cat"]]])
        whole = Holder(classes=["cat", "dog"], labels=[index % 2 for index in range(30)])
        self.assertEqual(tables(Holder(dataset=whole, indices=list(range(29, 19, -1))), 10, (0, 3)), [[[0, "dog"], [3, "cat"]]])

    def test_entries_that_lie_pickled_behind_each_other(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("needs numpy")

        class Explosive:
            def __reduce__(self):
                return os.abort, ()

        rows = [pickle.dumps({"img_path": path, "height": 480, "boom": Explosive()}, 4) for path in PATHS]
        data = numpy.frombuffer(b"".join(rows), dtype=numpy.uint8)
        ends = numpy.cumsum([len(row) for row in rows])
        self.assertEqual(tables(Holder(data_bytes=data, data_address=ends))[0], self.EXPECTED)
        self.assertEqual(tables(Holder(data_bytes=data[:-1], data_address=ends)), [])

    def test_tensors_stay_as_they_are(self):
        try:
            import torch
        except ImportError:
            self.skipTest("needs torch")
        weights, halves = torch.zeros(30), torch.zeros(30, dtype=torch.bfloat16)
        data, ends = torch.zeros(90, dtype=torch.uint8), 3 * torch.arange(1, 31)
        self.assertEqual(tables(Holder(weights=weights, halves=halves, data=data, ends=ends)), [])
        for tensor in (weights, halves, data, ends):
            tensor.resize_(600)

    def test_tables_of_arrow_are_asked_for_names_alone(self):
        try:
            import pyarrow
        except ImportError:
            self.skipTest("needs pyarrow")
        images = pyarrow.array([{"bytes": None, "path": path} for path in PATHS],
                               pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())]))
        table = pyarrow.table({"text": ["Hello. World"] * 30, "label": [1] * 30, "image": images, "file": PATHS})
        self.assertEqual(tables(Holder(_data=Holder(table=table), _indices=None)), [self.EXPECTED, self.EXPECTED])
        rows = pyarrow.table({"indices": pyarrow.array([3, 4, 29], pyarrow.uint64())})
        selected = Holder(_data=Holder(table=table), _indices=Holder(table=rows))
        self.assertEqual(tables(selected, 3, (0, 1))[0], [[0, PATHS[3]], [1, PATHS[4]]])
        self.assertEqual(tables(Holder(table=table), 31), [])
        embedded = pyarrow.table({"image": [{"bytes": b"pixels", "path": path} for path in PATHS]})
        self.assertEqual(tables(Holder(table=embedded)), [])
        parts = pyarrow.concat_tables([table.slice(0, 4), table.slice(4, 1), table.slice(5)])
        self.assertEqual(tables(Holder(table=parts), 30, (3, 4))[0], self.EXPECTED)
        self.assertEqual(tables(Holder(_indices=Holder(), _data=Holder(table=table)), 30), [self.EXPECTED, self.EXPECTED])

    def test_films_of_which_samples_are_parts(self):
        films = Holder(video_clips=Holder(video_paths=PATHS[:3], cumulative_sizes=[4, 4, 30], fps=[25, 25, 25]))
        self.assertEqual(tables(films, 30, (0, 3, 4, 29, 30)), [[[0, PATHS[0]], [3, PATHS[0]], [4, PATHS[2]], [29, PATHS[2]]]])

    def test_texts_that_are_learned_from_are_no_names(self):
        self.assertEqual(tables(Holder(texts=["word " * 1000] * 30)), [])

    def test_other_lengths_are_of_something_else(self):
        self.assertEqual(tables(Holder(classes=["cat", "dog"], paths=PATHS)), [self.EXPECTED])
        self.assertEqual(tables(Holder(paths=PATHS), samples=31), [])

    def test_what_only_looks_like_a_list_is_left_alone(self):
        class Lazy(list):
            def __getitem__(self, index):
                raise AssertionError("it was indexed")

        self.assertEqual(tables(Holder(paths=Lazy(PATHS))), [])

    def test_nothing_of_a_path_or_an_object_is_run(self):
        class Remote(os.PathLike):  # cloudpathlib's download what they stand for
            def __fspath__(self):
                raise AssertionError("it was asked for its path")

            __str__ = __fspath__

        class Guarded:
            def __init__(self):
                object.__setattr__(self, "hidden", PATHS)

            def __getattribute__(self, name):
                raise AssertionError("it was asked for " + name)

        self.assertEqual(tables(Holder(paths=[Remote()] * 30, inner=Guarded())), [self.EXPECTED])

    def test_modules_functions_and_classes_hold_no_samples(self):
        class Settings:
            paths = PATHS

        def function():
            pass

        function.paths = PATHS
        module = types.ModuleType("settings")
        module.paths = PATHS
        self.assertEqual(tables(Holder(a=Settings, b=function, c=module, d=self.setUp)), [])

    def test_circles_and_crowds_end(self):
        dataset = Holder(paths=PATHS)
        dataset.__dict__.update(me=dataset, many=[Holder() for _ in range(5000)])
        self.assertEqual(tables(dataset), [self.EXPECTED])

    def test_an_index_beyond_the_table_is_left_out(self):
        self.assertEqual(tables(Holder(paths=PATHS), indices=(3, 77)), [[[3, PATHS[3]]]])

    def test_arrays(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("needs numpy")
        self.assertEqual(tables(Holder(paths=numpy.array(PATHS))), [self.EXPECTED])
        self.assertEqual(tables(Holder(paths=numpy.array(PATHS, dtype=object))), [self.EXPECTED])
        self.assertEqual(tables(Holder(values=numpy.zeros(30))), [])
        with tempfile.NamedTemporaryFile() as file:
            mapped = numpy.memmap(file.name, dtype="U10", mode="w+", shape=(30,))
            mapped[:] = PATHS
            self.assertEqual(tables(Holder(paths=mapped)), [])

    def test_a_frame(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("needs pandas")
        frame = pandas.DataFrame({"label": [1] * 30, "file": PATHS}, index=range(100, 130))
        self.assertEqual(tables(Holder(frame=frame)), [self.EXPECTED])
        self.assertEqual(tables(Holder(files=frame["file"])), [self.EXPECTED])


if __name__ == "__main__":
    unittest.main()
