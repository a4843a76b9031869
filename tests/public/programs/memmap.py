"""A loop as nanoGPT's: batches cut out of a memory-mapped file of tokens, without any loader."""

import numpy as np
import small_data
import torch
import witness

LENGTH, VOCABULARY = 64, 256


def batch(name):
    data = np.memmap(f"{name}.bin", dtype=np.uint16, mode="r")
    places = torch.randint(len(data) - LENGTH - 1, (8,))
    tokens = torch.stack([torch.from_numpy(data[place:place + LENGTH + 1].astype(np.int64)) for place in places.tolist()])
    return tokens[:, :-1], tokens[:, 1:]


def main():
    witness.seed(10)
    layer = torch.nn.TransformerEncoderLayer(32, 2, 64, dropout=0.1, batch_first=True)
    model = torch.nn.Sequential(torch.nn.Embedding(VOCABULARY, 32), layer, torch.nn.Linear(32, VOCABULARY))
    optimizer, best = torch.optim.AdamW(model.parameters(), 1e-3), float("inf")
    for step in range(400 * small_data.SCALE):
        inputs, targets = batch("train")
        witness.batch((inputs, targets))
        loss = torch.nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if step % 100 == 99:
            with torch.no_grad():
                inputs, targets = batch("val")
                held = torch.nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten()).item()
            print(f"step {step}: loss {loss.item():.6f}, held {held:.6f}", flush=True)
            if held < best:
                best = held
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, "checkpoint.pt")
    witness.weights(model)


if __name__ == "__main__":
    main()
