"""fastai's Learner over a folder of pictures: sampling and transforms in its own loader's workers."""

import small_data
import witness


def main():
    from fastai.vision.all import (Callback, CrossEntropyLossFlat, CSVLogger, ImageDataLoaders, Learner, Resize, SaveModelCallback,
                                   accuracy, set_seed)

    class Watch(Callback):
        def before_batch(self):
            if self.training:
                witness.batch((*self.learn.xb, *self.learn.yb))

    witness.seed(8)
    set_seed(8, reproducible=True)
    loaders = ImageDataLoaders.from_folder("data", valid_pct=0.2, seed=8, item_tfms=Resize(32), bs=4, num_workers=2, device="cpu")
    learner = Learner(loaders, small_data.network(), loss_func=CrossEntropyLossFlat(), metrics=accuracy,
                      cbs=[Watch(), CSVLogger(), SaveModelCallback(monitor="valid_loss", every_epoch=False)])
    learner.recorder.add_time = False  # the seconds of an epoch, which history.csv would have, are not the same twice
    with learner.no_bar():
        learner.fit(5 * small_data.SCALE, 1e-3)
    learner.save("last")
    witness.weights(learner.model)


if __name__ == "__main__":
    main()
