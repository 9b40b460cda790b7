"""Reads a file of torch.save that Nadi wrote, as PyTorch reads files that nobody has to trust.

    read_torch_file.py <write_torch_file>

With weights_only=True, with and without mmap=True: every element type with its bytes, tensors that share a storage,
views, a parameter, an empty tensor, numbers, texts, bytes, sets, dtypes, devices, sizes. Exit code 77 where PyTorch is
missing.
"""
import os
import subprocess
import sys
import tempfile
import zipfile

try:
    import torch
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TYPES = ["float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool", "complex64",
         "complex128", "float8_e4m3fn", "float8_e5m2", "uint16", "uint32", "uint64"]


def bytes_of(tensor):
    return bytes(tensor.contiguous().untyped_storage())[:tensor.numel() * tensor.element_size()]


def check(values):
    assert list(values)[:len(TYPES)] == TYPES, list(values)
    for name in TYPES:
        tensor = values[name]
        assert tensor.dtype == getattr(torch, name) and tensor.shape == (2, 3), name
        count = 6 * tensor.element_size()
        expected = bytes(i % 2 for i in range(count)) if name == "bool" else bytes(range(count))
        assert bytes_of(tensor) == expected, name
    tied = torch.arange(12, dtype=torch.uint8).reshape(3, 4)
    assert torch.equal(values["tied"], tied) and values["tied"] is values["tied too"]
    assert torch.equal(values["transposed"], tied.T) and torch.equal(values["row"], tied[1])
    assert values["row"].untyped_storage().data_ptr() == values["tied"].untyped_storage().data_ptr()
    parameter = values["parameter"]
    assert isinstance(parameter, torch.nn.Parameter) and parameter.requires_grad and parameter.shape == ()
    assert values["empty"].shape == (0, 3)
    assert values["numbers"] == [-1, 255, 65535, 65536, -2**40, 2**70, 1.5]
    assert values["others"] == (None, True, "grüß", b"\x00\xff", {3}, torch.bfloat16, torch.device("cpu"),
                                torch.Size([2, 3])), values["others"]
    assert values._metadata == {}


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "values.pt")
    subprocess.run([sys.argv[1], path], check=True)
    assert zipfile.ZipFile(path).testzip() is None, "a checksum is wrong"
    for mapped in [False, True]:
        check(torch.load(path, weights_only=True, mmap=mapped))
        print(f"mmap={mapped}: equal")
