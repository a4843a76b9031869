"""transformers' Trainer: rotation in a folder with an earlier run's checkpoints, label smoothing, accumulation, lazy
transform, evaluation between."""
import random
import sys

import small_data
import witness


def main():
    from datasets import Dataset
    from transformers import Trainer, TrainingArguments, ViTConfig, ViTForImageClassification

    class Watched(Trainer):
        def training_step(self, model, inputs, *args, **kwargs):
            witness.batch(inputs)
            return super().training_step(model, inputs, *args, **kwargs)

    def transform(rows):
        return {"pixel_values": [small_data.decoded(path) * random.uniform(0.8, 1) for path in rows["path"]],
                "labels": rows["label"]}

    witness.seed(3)
    paths, labels = small_data.listed("data")
    data = Dataset.from_dict({"path": paths, "label": labels})
    data.set_transform(transform)
    model = ViTForImageClassification(ViTConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
                                                image_size=32, patch_size=8, num_labels=4))
    arguments = TrainingArguments(
        output_dir="out", num_train_epochs=6 * small_data.SCALE, per_device_train_batch_size=4, gradient_accumulation_steps=2,
        label_smoothing_factor=0.1, save_strategy="steps", save_steps=13, save_total_limit=2, eval_strategy="steps", eval_steps=13,
        load_best_model_at_end=True, metric_for_best_model="loss", logging_steps=5, dataloader_num_workers=2,
        remove_unused_columns=False, report_to="none", disable_tqdm=True, seed=3, use_cpu=True,
        dataloader_persistent_workers="persistent" in sys.argv)
    trainer = Watched(model=model, args=arguments, train_dataset=data, eval_dataset=data.select(range(16)).with_transform(transform))
    trainer.train()
    trainer.save_model("out/final")
    witness.weights(trainer.model)


if __name__ == "__main__":
    main()
