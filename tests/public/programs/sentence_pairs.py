"""sentence-transformers' trainer on pairs of a data set of its own kind, no two alike in a batch, with rotating checkpoints."""
import small_data
import torch
import witness


def tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {"[PAD]": 0, "[UNK]": 1, **{f"w{number}": number + 2 for number in range(200)}}
    made = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]", model_max_length=16)


def model():
    from sentence_transformers import SentenceTransformer, models
    from transformers import BertConfig, BertModel

    config = BertConfig(vocab_size=256, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
    BertModel(config).save_pretrained("model")
    tokenizer().save_pretrained("model")
    words = models.Transformer("model", max_seq_length=16)
    return SentenceTransformer(modules=[words, models.Pooling(32)], device="cpu")


def main():
    import datasets
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
    from sentence_transformers.losses import MultipleNegativesRankingLoss

    witness.seed(9)
    draw = torch.Generator().manual_seed(1)
    text = lambda: " ".join(f"w{number}" for number in torch.randint(0, 200, (8,), generator=draw).tolist())
    rows = [(text(), text()) for _ in range(256)]
    pairs = datasets.Dataset.from_dict({"anchor": [row[0] for row in rows], "positive": [row[1] for row in rows]})
    arguments = SentenceTransformerTrainingArguments(
        "out", num_train_epochs=6 * small_data.SCALE, per_device_train_batch_size=8, dataloader_num_workers=2, save_steps=50,
        save_total_limit=2, logging_steps=10, report_to=[], use_cpu=True, seed=9, batch_sampler="no_duplicates", disable_tqdm=True)
    encoder = model()

    class Witnessed(SentenceTransformerTrainer):
        def training_step(self, network, inputs, *rest):
            witness.batch({key: value for key, value in inputs.items() if torch.is_tensor(value)})
            return super().training_step(network, inputs, *rest)

    Witnessed(encoder, arguments, train_dataset=pairs, loss=MultipleNegativesRankingLoss(encoder)).train()
    witness.weights(encoder)


if __name__ == "__main__":
    main()
