"""Keras on torch: fit() on a DataLoader, with checkpoints and a CSV log."""
import os

os.environ["KERAS_BACKEND"] = "torch"

import small_data  # noqa: E402
import witness  # noqa: E402


def main():
    import keras
    from accelerate_loop import Pictures
    from torch.utils.data import DataLoader

    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.inner = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(4)])

        def call(self, inputs):
            return self.inner(inputs)

        def train_step(self, data):
            witness.batch(data)
            return super().train_step(data)

    keras.utils.set_random_seed(9)
    witness.seed(9)
    model = Model()
    model.compile(optimizer=keras.optimizers.SGD(1e-2), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  jit_compile=False)
    loader = DataLoader(Pictures(), batch_size=4, shuffle=True, num_workers=2)
    model.fit(loader, epochs=5 * small_data.SCALE, verbose=2, callbacks=[
        keras.callbacks.ModelCheckpoint("at-{epoch}.weights.h5", save_weights_only=True), keras.callbacks.CSVLogger("log.csv")])
    witness.note(weights=witness.digest([weight for weight in model.get_weights()]))


if __name__ == "__main__":
    main()
