"""trl's SFTTrainer with a LoRA adapter by peft, on a model of nearly nothing and text made here."""
import numpy as np
import small_data
import witness


def main():
    import torch
    from datasets import Dataset
    from peft import LoraConfig
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
    from trl import SFTConfig, SFTTrainer

    witness.seed(3)
    words = [f"w{i}" for i in range(200)]
    vocabulary = {word: i for i, word in enumerate(["<pad>", "<s>", "</s>", "<unk>", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>")
    random = np.random.default_rng(0)
    data = Dataset.from_dict({"text": [" ".join(random.choice(words, int(random.integers(5, 40)))) for _ in range(300)]})
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(vocabulary), hidden_size=32, intermediate_size=64, num_hidden_layers=1,
                                         num_attention_heads=2, num_key_value_heads=2))

    class Witnessed(SFTTrainer):
        def compute_loss(self, model, inputs, *args, **kwargs):
            witness.batch({key: value for key, value in inputs.items() if isinstance(value, torch.Tensor)})
            return super().compute_loss(model, inputs, *args, **kwargs)

    trainer = Witnessed(model=model, train_dataset=data, processing_class=fast, peft_config=LoraConfig(r=4, target_modules=["q_proj"]),
                        args=SFTConfig(output_dir="out", per_device_train_batch_size=4, num_train_epochs=3 * small_data.SCALE,
                                       dataloader_num_workers=2, save_steps=50, save_total_limit=2, logging_steps=10, report_to=[], seed=1,
                                       max_length=32, packing=True, use_cpu=True, bf16=False))
    trainer.train()
    witness.weights(model)


if __name__ == "__main__":
    main()
