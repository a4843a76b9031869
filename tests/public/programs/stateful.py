"""torchdata's StatefulDataLoader: its state goes into checkpoints, and the training goes on from one in mid-epoch."""

import small_data
import torch
import witness
from accelerate_loop import Pictures


def main():
    from torchdata.stateful_dataloader import StatefulDataLoader

    witness.seed(11)
    make_loader = lambda: StatefulDataLoader(Pictures(), batch_size=4, shuffle=True, num_workers=2)
    loader, model, saved = make_loader(), small_data.network(), None
    optimizer = torch.optim.SGD(model.parameters(), 1e-2)
    for epoch in range(8 * small_data.SCALE):
        for number, (images, labels) in enumerate(loader):
            state = loader.state_dict()
            witness.batch((images, labels), state=witness.digest(state))
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if number == 10:
                saved = {"loader": state, "model": model.state_dict()}
                torch.save(saved, f"checkpoint-{epoch}.pt")
            if epoch == 3 and number == 15:  # the job is ended here, and resumed
                break
        if epoch == 3:
            loader = make_loader()
            loader.load_state_dict(saved["loader"])
    witness.weights(model)


if __name__ == "__main__":
    main()
