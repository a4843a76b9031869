"""pytorch-tabnet's classifier on arrays in memory, with an evaluation set and early stopping."""
import numpy as np
import small_data
import witness


def main():
    from pytorch_tabnet.tab_model import TabNetClassifier

    witness.seed(3)
    random = np.random.default_rng(0)
    x, y = random.standard_normal((2000, 16)).astype("float32"), random.integers(0, 3, 2000)

    class Witnessed(TabNetClassifier):
        def _train_batch(self, x, y):
            witness.batch((x, y))
            return super()._train_batch(x, y)

    model = Witnessed(n_d=4, n_a=4, n_steps=2, seed=1, verbose=0, device_name="cpu")
    model.fit(x[:1600], y[:1600], eval_set=[(x[1600:], y[1600:])], max_epochs=6 * small_data.SCALE, patience=50, batch_size=64,
              virtual_batch_size=32, num_workers=2, drop_last=False)
    witness.weights(model.network)
    model.save_model("tabnet")


if __name__ == "__main__":
    main()
