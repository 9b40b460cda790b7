"""Holds the reference engine's models against the real ones of the `transformers` package.

    compare_with_transformers.py <dump_reference_step>

For a tiny GPT-2, BERT, Llama 3.1, Mistral and Qwen2: the weights that Nadi made are loaded into the original model in double
precision; its loss and all its gradients must be ours. Exit code 77 where the package is missing.
"""
import json
import subprocess
import sys

try:
    import torch
    from transformers import (BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM,
                              MistralConfig, MistralForCausalLM, Qwen2Config, Qwen2ForCausalLM)
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

MODELS = {"gpt2": (GPT2Config, GPT2LMHeadModel), "bert": (BertConfig, BertForMaskedLM),
          "llama": (LlamaConfig, LlamaForCausalLM), "mistral": (MistralConfig, MistralForCausalLM),
          "qwen2": (Qwen2Config, Qwen2ForCausalLM)}
BAR = 1e-6  # relative; some of the originals' steps (rotary angles, attention masks) are in single precision


def compare(name, program):
    step = json.loads(subprocess.run([program, name], check=True, capture_output=True, text=True).stdout)
    config_class, model_class = MODELS[name]
    model = model_class(config_class(**step["config"], attn_implementation="eager")).double().train()
    ours = step["parameters"]
    theirs = dict(model.named_parameters())
    assert set(ours) == set(theirs), set(ours) ^ set(theirs)
    with torch.no_grad():
        for key, parameter in theirs.items():
            value = torch.tensor(ours[key]["value"], dtype=torch.double).reshape(ours[key]["shape"])
            assert parameter.shape == value.shape, (key, parameter.shape, value.shape)
            parameter.copy_(value)
    shape = (step["batch"], step["tokens"])
    ids = torch.tensor(step["input_ids"]).long().reshape(shape)
    targets = torch.tensor(step["targets"]).long().reshape(shape)
    lengths = torch.tensor(step["lengths"]).long()
    mask = (torch.arange(step["tokens"])[None, :] < lengths[:, None]).long()
    if name == "bert":
        types = torch.tensor(step["token_type_ids"]).long().reshape(shape)
        logits = model(ids, attention_mask=mask, token_type_ids=types).logits
    else:
        logits = model(ids).logits  # targets are given per position; padding has none
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)
    loss.backward()
    loss_error = abs(loss.item() - step["loss"]) / abs(loss.item())
    error = norm = 0.0
    for key, parameter in theirs.items():
        gradient = torch.tensor(ours[key]["gradient"], dtype=torch.double).reshape(ours[key]["shape"])
        error += (gradient - parameter.grad).pow(2).sum().item()
        norm += parameter.grad.pow(2).sum().item()
    gradient_error = (error / norm) ** 0.5
    print(f"{name}: loss {loss.item():.6f}, relative error {loss_error:.1e}; gradients {gradient_error:.1e}")
    return loss_error < BAR and gradient_error < BAR


if __name__ == "__main__":
    sys.exit(0 if all([compare(name, sys.argv[1]) for name in MODELS]) else 1)
