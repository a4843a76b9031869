"""Makes train.ipynb, which trains over three cells; and, with a word, runs it as that tool does: papermill or nbconvert."""
import json
import os
import sys

CELLS = ("""\
import small_data
import torch
import witness
from accelerate_loop import Pictures
from torch.utils.data import DataLoader

witness.seed(3)
""", """\
model = small_data.network()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(Pictures(), batch_size=4, shuffle=True, num_workers=2)
""", """\
for epoch in range(8 * small_data.SCALE):
    for images, labels in loader:
        witness.batch((images, labels))
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
    print("epoch", epoch, f"{loss.item():.6f}")
torch.save(model.state_dict(), "model.pt")
witness.weights(model)
""")


def make():
    cells = [{"cell_type": "code", "id": f"cell{number}", "metadata": {}, "execution_count": None, "outputs": [],
              "source": source} for number, source in enumerate(CELLS)]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    with open("train.ipynb", "w") as file:
        json.dump({"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}, file)


def command(tool):
    """Times stand in what papermill writes; nbconvert's pages hold the cells' output alone."""
    words = {"papermill": ["-m", "papermill", "--no-progress-bar", "train.ipynb", "done.ipynb"],
             "nbconvert": ["-m", "nbconvert", "--execute", "--to", "markdown", "--output", "done", "train.ipynb"]}[tool]
    return [sys.executable, *words]


if __name__ == "__main__":
    make()
    os.execv(sys.executable, command(sys.argv[1]))
