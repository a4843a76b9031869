"""SpeechBrain's Brain on a DynamicItemDataset: a loader whose state is saved within epochs, sounds of many lengths."""
import numpy
import small_data
import torch
import witness


def main():
    import speechbrain as sb

    witness.seed(17)
    draw = numpy.random.default_rng(1)
    rows = {f"s{number:03d}": {"length": int(draw.integers(800, 3200)), "label": number % 4} for number in range(96)}

    @sb.utils.data_pipeline.takes("length")
    @sb.utils.data_pipeline.provides("sound")
    def sound(length):
        return torch.rand(length)

    dataset = sb.dataio.dataset.DynamicItemDataset(rows, [sound], ["id", "sound", "label"])

    class Sounds(sb.Brain):
        def compute_forward(self, batch, stage):
            sounds, lengths = batch.sound
            witness.batch((sounds, lengths))
            return self.modules.layers(sounds.unfold(1, 400, 200).mean(1))

        def compute_objectives(self, predictions, batch, stage):
            return torch.nn.functional.cross_entropy(predictions, torch.tensor(list(batch.label)))

    brain = Sounds({"layers": torch.nn.Linear(400, 4)}, lambda parameters: torch.optim.SGD(parameters, 1e-2), run_opts={"device": "cpu"},
                   checkpointer=sb.utils.checkpoints.Checkpointer("saved"))
    brain.noprogressbar = True
    brain.fit(sb.utils.epoch_loop.EpochCounter(8 * small_data.SCALE), dataset,
              train_loader_kwargs={"batch_size": 4, "num_workers": 2, "shuffle": True})
    brain.checkpointer.save_checkpoint(name="last")
    witness.weights(brain.modules)


if __name__ == "__main__":
    main()
