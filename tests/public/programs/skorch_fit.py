"""skorch's classifier: fit() with a validation split, a checkpoint and early stopping."""
import small_data
import torch
import witness
from accelerate_loop import Pictures


def main():
    from skorch import NeuralNetClassifier
    from skorch.callbacks import Checkpoint, EarlyStopping
    from skorch.dataset import ValidSplit

    witness.seed(3)

    class Witnessed(NeuralNetClassifier):
        def train_step(self, batch, **parameters):
            witness.batch(batch)
            return super().train_step(batch, **parameters)

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = small_data.network()

        def forward(self, images):
            return self.layers(images).softmax(1)

    net = Witnessed(Network, classes=range(4), max_epochs=8 * small_data.SCALE, lr=1e-2, batch_size=4,
                    iterator_train__shuffle=True, iterator_train__num_workers=2, iterator_valid__num_workers=1, verbose=0, train_split=ValidSplit(4, stratified=False),
                    callbacks=[Checkpoint(dirname="checkpoints", monitor="valid_loss_best"), EarlyStopping(patience=50)])
    net.fit(Pictures(), y=None)
    witness.weights(net.module_)


if __name__ == "__main__":
    main()
