"""tf.data and Keras: scripted modules of the same names and shape, so that no TensorFlow is needed. Jobs with the real
ones are in tests/frameworks."""

import os
import sys

from harness import SHIM, ShimTest, main
from recording import END_OF_EPOCH, FIRST
from scripted_tf import MODULES

FIT = """
import keras.src.backend.tensorflow.trainer as keras
from tensorflow.python.data.ops.iterator_ops import pipeline
trainer = keras.TensorFlowTrainer()
"""


class ScriptedTest(ShimTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, content in MODULES.items():
            cls.write("fake/" + name, content)

    def run_script(self, content, **options):
        return self.python(self.write("script.py", content), python_path=[self.folder + "/fake"], **options)

    def same(self, content):
        """Runs the script with and without the shim, which must look the same; the one with it."""
        result = self.run_script(content)
        plain = self.run_script(content, shim=False)
        self.assertEqual((result.status, result.out, result.err), (plain.status, plain.out, plain.err))
        self.assertEqual(plain.status, 0, plain.err)
        return result.run

    def fine(self, content):
        run = self.same(content)
        self.assertEqual(run.issues, [])
        return run


class DataTest(ScriptedTest):
    def test_passes(self):
        consumer = self.fine(
            """
            from tensorflow.python.data.ops.iterator_ops import pipeline
            dataset = pipeline()
            for epoch in range(2):
                for batch in dataset:
                    print(batch)
            """
        ).consumer
        self.assertEqual([wait.samples for wait in consumer.waits], [4, 4, 2, 0] * 2)
        self.assertEqual([wait.flags for wait in consumer.waits], [FIRST, 0, 0, END_OF_EPOCH] * 2)
        (text,) = consumer.texts["loader"]
        self.assertEqual((text["kind"], text["composition"]), ("tf.data", "overlapped"))
        self.assertEqual((text["batch_size"], text["dataset_samples"], text["shuffled"]), (4, 10, True))
        self.assertEqual(text["stages"], ["PrefetchDataset", "BatchDataset", "ShuffleDataset", "RangeDataset"])
        self.assertEqual([text["epoch"] for text in consumer.texts["iterator"]], [0, 1])
        process = consumer.texts["process"][-1]
        self.assertEqual((process["framework"], process["framework_version"]), ("tensorflow", "9.9"))

    def test_arrays_of_batches_are_made_within_the_wait(self):
        script = (
            "from tensorflow.python.data.ops import dataset_ops\n"
            "from tensorflow.python.data.ops.iterator_ops import pipeline\n"
            "print(list(dataset_ops.NumpyIterator(pipeline())))\n"
        )
        waits = self.fine(script).consumer.waits
        self.assertEqual([wait.samples for wait in waits], [4, 4, 2, 0])
        self.assertEqual([wait.flags for wait in waits], [FIRST, 0, 0, END_OF_EPOCH])
        result = self.run_script(script + "print(*dataset_ops.made_ns)\n")
        made_ns = [int(word) for word in result.out.splitlines()[-1].split()]
        for wait, made in zip(result.run.consumer.waits, made_ns):
            self.assertLessEqual(wait.begin_ns, made)
            self.assertLessEqual(made, wait.end_ns)
        self.assertEqual(len(made_ns), 3)

    def test_arrays_of_what_is_no_data_set_and_within_a_graph(self):
        run = self.same(
            """
            from tensorflow.python.data.ops import dataset_ops
            from tensorflow.python.data.ops.iterator_ops import context, pipeline
            print(list(dataset_ops.NumpyIterator([1, 2])))
            context.eager = False
            print(list(dataset_ops.NumpyIterator(pipeline())))
            """
        )
        self.assertEqual([issue["id"] for issue in run.issues], ["tf-data-in-graph"])
        self.assertFalse(any(recording.waits for recording in run.recordings))

    def test_get_next_and_an_iterator_that_is_let_go(self):
        consumer = self.fine(
            """
            from tensorflow.python.data.ops.iterator_ops import errors, pipeline
            iterator = iter(pipeline())
            print(iterator.get_next(), next(iterator), next(iterator, None), next(iterator, None))
            try:
                iterator.get_next()
            except errors.OutOfRangeError:
                print("end")
            del iterator
            """
        ).consumer
        self.assertEqual(len(consumer.deliveries()), 3)

    def test_what_the_pipeline_raises(self):
        self.fine(
            """
            from tensorflow.python.data.ops.iterator_ops import DatasetV2
            class Broken(DatasetV2):
                def make(self):
                    yield 1
                    raise KeyError("mine")
            import traceback
            iterator = iter(Broken())
            print(next(iterator))
            for _ in range(2):
                try:
                    next(iterator)
                except (KeyError, StopIteration) as error:
                    print(type(error), error.args, len(traceback.extract_tb(error.__traceback__)))
            """
        )

    def test_the_end_of_a_pass_of_keras_is_met_in_the_graph(self):
        """What needs no batch is done there once more, as the optimizer's count of its iterations."""
        self.same(
            """
            from keras.src.backend.tensorflow.trainer import TensorFlowTrainer
            from tensorflow.python.data.ops.iterator_ops import pipeline
            model = TensorFlowTrainer()
            print(model.fit(pipeline(), 3), model.iterations)
            """
        )

    def test_what_a_pull_of_keras_raises_is_no_end(self):
        """The iterator would go on with the next batch."""
        for error in ("KeyError('mine')", "KeyboardInterrupt()"):
            with self.subTest(error):
                self.same(
                    """
                    from keras.src.backend.tensorflow.trainer import TensorFlowTrainer
                    from tensorflow.python.data.ops.iterator_ops import DatasetV2
                    class Made:
                        number = 0
                        def __next__(self):
                            self.number += 1
                            if self.number == 3:
                                raise ERROR
                            if self.number == 6:
                                raise StopIteration
                            return [[self.number]]
                    class Broken(DatasetV2):
                        def make(self):
                            return Made()
                    model = TensorFlowTrainer()
                    try:
                        print(model.fit(Broken(), 1))
                    except (KeyError, KeyboardInterrupt) as error:
                        print(repr(error), model.seen)
                    """.replace("ERROR", error)
                )

    def test_lengths_that_follow_from_the_parts(self):
        sys.path.insert(0, os.path.join(SHIM, "stallcast_shim", "loaders"))
        import tfdata_length

        def made(kind, **fields):
            found = type(kind, (), {})()
            vars(found).update(fields)
            return found

        ten = made("_RangeDataset", _start=0, _stop=20, _step=2)
        for expected, dataset in (
            (10, ten),
            (10, made("_ParallelMapDataset", _input_dataset=ten)),
            (10, made("_OptionsDataset", _dataset=ten)),
            (30, made("_RepeatDataset", _input_dataset=ten, _count=3)),
            (None, made("_RepeatDataset", _input_dataset=ten, _count=-1)),
            (4, made("_TakeDataset", _input_dataset=ten, _count=4)),
            (10, made("_TakeDataset", _input_dataset=ten, _count=-1)),
            (7, made("_SkipDataset", _input_dataset=ten, _count=3)),
            (0, made("_SkipDataset", _input_dataset=ten, _count=-1)),
            (3, made("_ShardDataset", _input_dataset=ten, _num_shards=4, _index=2 - 1)),
            (1, made("_ZipDataset", _datasets={"a": ten, "b": made("_TensorDataset")})),
            (20, made("_ConcatenateDataset", _input_dataset=ten, _dataset_to_concatenate=ten)),
            (None, made("_FilterDataset", _input_dataset=ten)),
            (None, made("_ZipDataset", _datasets=(ten, made("_FilterDataset", _input_dataset=ten)))),
        ):
            self.assertEqual(tfdata_length.length(dataset), expected, type(dataset).__name__)

    def test_what_a_training_step_of_keras_raises(self):
        self.same(
            """
            import traceback
            from keras.src.backend.tensorflow.trainer import TensorFlowTrainer
            from tensorflow.python.data.ops.iterator_ops import pipeline
            class Model(TensorFlowTrainer):
                def train_step(self, data):
                    raise ValueError("shapes differ")
            try:
                Model().fit(pipeline(), 1)
            except ValueError:
                print(traceback.format_exc().count("stallcast_shim"))
            """
        )

    def test_pulls_within_a_graph_are_said_and_left_alone(self):
        run = self.same(
            """
            from tensorflow.python.data.ops.iterator_ops import context, pipeline
            context.eager = False
            print(list(pipeline()))
            """
        )
        self.assertEqual([issue["id"] for issue in run.issues], ["tf-data-in-graph"])
        self.assertFalse(any(recording.waits for recording in run.recordings))

    def test_an_iterator_without_a_data_set(self):
        run = self.fine(
            """
            from tensorflow.python.data.ops.iterator_ops import OwnedIterator
            print(list(OwnedIterator(components=1, element_spec=2)))
            """
        )
        self.assertFalse(any(recording.waits for recording in run.recordings))

    def test_a_failure_of_ours_is_one_issue(self):
        for name in ("describe", "_chain", "_pass_of"):
            run = self.same(
                """
                import sys
                from tensorflow.python.data.ops.iterator_ops import pipeline
                module = sys.modules.get("stallcast_shim.loaders.tfdata")
                def broken(*arguments):
                    raise ZeroDivisionError("of ours")
                if module is not None:
                    module.%s = broken
                print(list(pipeline()))
                """
                % name
            )
            self.assertEqual([issue["id"] for issue in run.issues], ["shim-failed"], name)

    def test_wrap_leaves_it_alone(self):
        run = self.run_script(
            """
            import stallcast
            from tensorflow.python.data.ops.iterator_ops import pipeline
            class DatasetV2:
                __module__ = "tensorflow.python.data.ops.dataset_ops"
            dataset = DatasetV2()
            print(stallcast.wrap(dataset) is dataset)
            """
        )
        self.assertEqual(run.out, "True\n")


class KerasTest(ScriptedTest):
    def test_fit(self):
        consumer = self.fine(FIT + "print(trainer.fit(pipeline(), 2), trainer.seen)\n").consumer
        training = [wait for wait in consumer.waits if wait.iterator_id in (0, 2)]
        self.assertEqual([wait.samples for wait in training], [4, 4, 2, 0] * 2)
        self.assertEqual(len(consumer.waits), 8 + 2)  # and one batch of each evaluation
        self.assertEqual(len(consumer.steps), 6)

    def test_gradients_are_accumulated(self):
        content = FIT + "class Optimizer:\n    gradient_accumulation_steps = 2\ntrainer.optimizer = Optimizer()\n" \
                        "print(trainer.fit(pipeline(), 2))\n"
        self.assertEqual(len(self.fine(content).consumer.steps), 3)

    def test_several_steps_of_one_call_are_left_alone_and_said(self):
        run = self.same(FIT + "trainer.steps_per_execution = 3\nprint(trainer.fit(pipeline(), 1))\n")
        (issue,) = run.issues
        self.assertEqual(issue["id"], "keras-waits-unseen")
        self.assertIn("steps_per_execution=3", issue["detail"])
        self.assertFalse(any(recording.waits for recording in run.recordings))

    def test_a_keras_that_pulls_otherwise_is_left_alone_and_said(self):
        run = self.same(
            FIT
            + """
class Other(keras.TensorFlowTrainer):
    pass
def _make_function(self, step_function):
    return lambda iterator: step_function(next(iterator._made))
real = keras.TensorFlowTrainer._make_function
import sys
if "stallcast_shim.loaders.keras" in sys.modules:
    keras.TensorFlowTrainer._make_function = _make_function
    sys.modules["stallcast_shim.loaders.keras"].patch(keras)
else:
    keras.TensorFlowTrainer._make_function = _make_function
trainer.seen = []
print(trainer._make_function(trainer.train_step)(iter(pipeline())))
"""
        )
        self.assertEqual([issue["id"] for issue in run.issues], ["keras-waits-unseen"])


if __name__ == "__main__":
    main()
