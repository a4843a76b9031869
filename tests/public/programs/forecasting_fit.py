"""pytorch-forecasting: a TimeSeriesDataSet in memory, a Lightning trainer."""
import numpy as np
import small_data
import witness


def main():
    import lightning
    import pandas
    from pytorch_forecasting import NBeats, TimeSeriesDataSet

    witness.seed(3)
    random = np.random.default_rng(0)
    frame = pandas.DataFrame({"series": np.repeat([str(i) for i in range(8)], 120), "time": np.tile(np.arange(120), 8),
                              "value": random.standard_normal(960).cumsum().astype("float32")})
    data = TimeSeriesDataSet(frame, time_idx="time", target="value", group_ids=["series"], max_encoder_length=20, min_encoder_length=20,
                             max_prediction_length=5, min_prediction_length=5, time_varying_unknown_reals=["value"])
    loader = data.to_dataloader(train=True, batch_size=16, num_workers=2)

    class Witness(lightning.Callback):
        def on_train_batch_start(self, trainer, module, batch, index):
            witness.batch(batch)

    model = NBeats.from_dataset(data, learning_rate=1e-3, widths=[16, 16], backcast_loss_ratio=0.1)
    lightning.Trainer(max_epochs=4 * small_data.SCALE, accelerator="cpu", logger=False, callbacks=[Witness()], enable_progress_bar=False,
                      default_root_dir="out").fit(model, loader)
    witness.weights(model)


if __name__ == "__main__":
    main()
