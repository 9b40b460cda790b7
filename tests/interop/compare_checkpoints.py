"""Loads folders that Nadi saved with the `transformers` package, and holds what it computes against Nadi's numbers.

    compare_checkpoints.py <dump_logits>

For a tiny GPT-2, BERT, Llama 3.1, Mistral and Qwen2 with random weights: AutoTokenizer gives the tokens that Nadi's
tokenizer gave, the model gives the logits of the CPU engine at every position (single precision on both sides), and
goes on with the same tokens; with weights in safetensors, and in a file of torch.save. Exit code 77 where the package is missing.
"""
import json
import os
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
try:
    import torch
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

MODELS = {"gpt2": AutoModelForCausalLM, "bert": AutoModelForMaskedLM, "llama": AutoModelForCausalLM,
          "mistral": AutoModelForCausalLM, "qwen2": AutoModelForCausalLM, "qwen3": AutoModelForCausalLM}
BAR = 1e-4  # absolute; logits are of the order of 1 to 10


def continued(model, ids, count):
    """The likeliest next token, `count` times, as far as the model's own end of text."""
    made = model.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long),
                          max_new_tokens=count, do_sample=False, pad_token_id=0)
    return made[0, len(ids):].tolist()


def compare(name, program, save_format):
    with tempfile.TemporaryDirectory() as parent:
        folder = os.path.join(parent, name)
        ours = json.loads(subprocess.run([program, name, folder] + save_format, check=True, capture_output=True, text=True).stdout)
        if save_format:  # as from_pretrained does, and as PyTorch maps it
            weights = torch.load(os.path.join(folder, "pytorch_model.bin"), weights_only=True, mmap=True)
            assert all(torch.is_tensor(tensor) for tensor in weights.values()), "not a dictionary of tensors"
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model = MODELS[name].from_pretrained(folder).float().eval()

    same_ids = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in ours["texts"]] == ours["input_ids"]
    lengths = torch.tensor([len(ids) for ids in ours["input_ids"]])
    shape = (len(lengths), ours["tokens"])
    ids = torch.zeros(shape, dtype=torch.long)
    for row, tokens in enumerate(ours["input_ids"]):
        ids[row, :len(tokens)] = torch.tensor(tokens)
    mask = torch.arange(shape[1])[None, :] < lengths[:, None]
    inputs = {"input_ids": ids, "attention_mask": mask.long()}
    if name == "bert":
        inputs["token_type_ids"] = torch.tensor(ours["token_type_ids"]).reshape(shape)
    with torch.no_grad():
        theirs = model(**inputs).logits
        same_text = ours["generated"] is None
        if not same_text:
            made = continued(model, ours["input_ids"][0], len(ours["generated"]))
            same_text = len(made) > 0 and made == ours["generated"][:len(made)]
    logits = torch.tensor(ours["logits"]).reshape(*shape, ours["vocabulary"])
    difference = (logits - theirs).abs()[mask].max().item()  # what stands at padding means nothing
    print(f"{name} {''.join(save_format) or 'safetensors'}: logits up to {theirs[mask].abs().max().item():.2f}, difference {difference:.1e}; "
          f"tokens {'equal' if same_ids else 'DIFFER'}, continuation {'equal' if same_text else 'DIFFERS'}")
    return difference <= BAR and same_ids and same_text


if __name__ == "__main__":
    sys.exit(0 if all([compare(name, sys.argv[1], save_format)
                           for save_format in [[], ["pytorch"]] for name in MODELS]) else 1)
