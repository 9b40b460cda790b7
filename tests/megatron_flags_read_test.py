"""Megatron-LM reads the flags that Nadi writes for plans.

    NADI_MEGATRON=folder[:folder ...] megatron_flags_read_test.py <nadi>

Each folder is a checkout of Megatron-LM, Core 0.8 or later. Megatron's own parser reads the words, its own checks go over
them, its own configuration of the model is made of them, and its own code says how many layers a stage builds: all of
them must be those of the plan. PyTorch and the other packages that Megatron imports are not needed: what is imported of
them is replaced by objects that take everything (StandIn), since nothing is computed. Exit code 77 without NADI_MEGATRON.
"""
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import types
import typing

# ---- In a process of its own, for each folder and plan: Megatron reads.

REPLACED = {"torch", "numpy", "einops", "regex", "triton"}


class Base:
    """In place of a class of a package that is not there."""

    @staticmethod
    def apply(*_):
        raise NotImplementedError


class StandIn:
    """Something of a package that is not there. Its members are others; as a decorator it changes nothing."""

    def __init__(self, name):
        self.__dict__.update(__name__=name, __qualname__=name, __file__="/nowhere/stand_in.py")

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self.__dict__[name] = StandIn(f"{self.__name__}.{name}")
        return self.__dict__[name]

    def __call__(self, *given, **named):
        if len(given) == 1 and not named and isinstance(given[0], (types.FunctionType, type)):
            return given[0]
        return StandIn(f"{self.__name__}()")

    def __mro_entries__(self, bases):
        first = next(base for base in bases if isinstance(base, StandIn))
        return (Base,) if first is self else ()

    def __same(self, *_):
        return self

    __or__ = __ror__ = __mul__ = __rmul__ = __add__ = __radd__ = __sub__ = __rsub__ = __getitem__ = __same
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __same

    def __false(self, *_):
        return False

    __lt__ = __le__ = __gt__ = __ge__ = __subclasscheck__ = __false

    def __instancecheck__(self, other):
        return isinstance(other, StandIn) and self.__name__ == "torch.dtype"

    def __iter__(self):
        return iter(())

    def __int__(self):
        return 0

    def __fspath__(self):
        return "/nowhere"

    def __repr__(self):
        return self.__name__


class StandInModule(types.ModuleType):
    __version__ = "2.6.0"  # no version is too old for Megatron's checks
    __file__ = "/nowhere/__init__.py"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(self, name, StandIn(f"{self.__name__}.{name}"))
        return self.__dict__[name]


class StandInFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in REPLACED:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return StandInModule(spec.name)

    def exec_module(self, module):
        pass


def megatron_of(folder):
    """Megatron's modules of arguments, blocks and groups. Its packages are entered without their __init__.py, which
    import everything."""
    sys.meta_path.insert(0, StandInFinder())
    if not hasattr(typing, "override"):  # Python 3.12; for Megatron a word without effect
        typing.override = lambda function: function
    try:
        import packaging.version  # noqa: F401
    except ImportError:
        import pip._vendor.packaging.version as version
        sys.modules.update({"packaging": sys.modules["pip._vendor.packaging"], "packaging.version": version})
    for name in ("megatron", "megatron.training"):
        sys.modules[name] = StandInModule(name)
        sys.modules[name].__path__ = [os.path.join(folder, *name.split("."))]
    return [importlib.import_module(f"megatron.{name}") for name in
            ("training.arguments", "core.transformer.transformer_block", "core.parallel_state")]


def layers_of(config, args, blocks, groups):
    """Layers of each stage, virtual stages one after the other as the model goes through them."""
    groups._MPU_PIPELINE_MODEL_PARALLEL_WORLD_SIZE = args.pipeline_model_parallel_size
    groups._VIRTUAL_PIPELINE_MODEL_PARALLEL_WORLD_SIZE = args.virtual_pipeline_model_parallel_size
    takes_stage = "vp_stage" in blocks.get_num_layers_to_build.__annotations__
    layers = []
    for chunk in range(args.virtual_pipeline_model_parallel_size or 1):
        groups._VIRTUAL_PIPELINE_MODEL_PARALLEL_RANK = chunk
        for stage in range(args.pipeline_model_parallel_size):
            groups._MPU_PIPELINE_MODEL_PARALLEL_RANK = stage
            stage_words = {"vp_stage": chunk} if takes_stage and args.virtual_pipeline_model_parallel_size else {}
            layers.append(blocks.get_num_layers_to_build(config, **stage_words))
    return layers


def read_here(folder, words):
    arguments, blocks, groups = megatron_of(folder)
    sys.argv = ["pretrain_gpt.py", *words]
    args = arguments.parse_args()
    arguments.validate_args(args)
    config = arguments.core_transformer_config_from_args(args)
    values = {name: value if isinstance(value, (int, float, str, type(None))) else str(value)
              for name, value in vars(args).items()}
    values["layers"] = layers_of(config, args, blocks, groups)
    values["norm_epsilon"] = config.layernorm_epsilon  # the argument has two names
    print("\nread: " + json.dumps(values))


# ---- The test.

# Transformer Engine is not there, either, and its rotary kernel must be there or switched off.
STEPS = ["--train-iters", "20", "--lr", "1e-4", "--mock-data", "--tokenizer-type", "NullTokenizer", "--no-rope-fusion"]
GPT2_XL = {"num_layers": 48, "hidden_size": 1600, "num_attention_heads": 25, "ffn_hidden_size": 6400,
           "max_position_embeddings": 1024, "seq_length": 512, "swiglu": False, "add_bias_linear": True,
           "normalization": "LayerNorm", "position_embedding_type": "learned_absolute",
           "untie_embeddings_and_output_weights": False, "hidden_dropout": 0.1, "attention_dropout": 0.1}
LLAMA = {"num_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_query_groups": 8, "ffn_hidden_size": 14336,
         "seq_length": 512, "swiglu": True, "add_bias_linear": False, "normalization": "RMSNorm",
         "position_embedding_type": "rope", "rotary_base": 500000, "untie_embeddings_and_output_weights": True,
         "norm_epsilon": 1e-5, "hidden_dropout": 0, "attention_dropout": 0, "use_rope_scaling": True}

# What the plan says; what Megatron must have read; the first version of Megatron Core that can read it, and the flag
# that earlier ones lack.
CASES = [
    dict(name="even", model="gpt2-xl", step={"dtype": "bf16"}, plan={"tp": 1, "dp": 2, "pp": 4},
         read={**GPT2_XL, "layers": [12] * 4, "params_dtype": "torch.bfloat16", "data_parallel_size": 2, "bf16": True,
               "recompute_granularity": None, "use_distributed_optimizer": False, "optimizer": "adam"}),
    dict(name="one rank in fp32", model="gpt2-xl", step={}, plan={},
         read={**GPT2_XL, "layers": [48], "params_dtype": "torch.float", "data_parallel_size": 1}),
    dict(name="ends that differ", model="gpt2-xl", step={"dtype": "fp16"}, plan={"dp": 2, "pp": 4, "partition": [8, 14, 14, 12]},
         since=9, lacks="--decoder-first-pipeline-num-layers",
         read={**GPT2_XL, "layers": [8, 14, 14, 12], "params_dtype": "torch.half"}),
    dict(name="two stages that differ", model="gpt2-xl", step={"dtype": "fp16"}, plan={"pp": 2, "partition": [20, 28]},
         since=9, lacks="--decoder-first-pipeline-num-layers", read={**GPT2_XL, "layers": [20, 28]}),
    dict(name="any partition", model="gpt2-xl", step={"dtype": "bf16"}, plan={"pp": 4, "partition": [8, 16, 14, 10]},
         since=13, lacks="--pipeline-model-parallel-layout", read={**GPT2_XL, "layers": [8, 16, 14, 10]}),
    dict(name="empty stages", model="gpt2-xl", step={"dtype": "bf16"}, plan={"pp": 8, "partition": [0, 11, 8, 8, 8, 8, 5, 0]},
         since=13, lacks="--pipeline-model-parallel-layout", read={**GPT2_XL, "layers": [0, 11, 8, 8, 8, 8, 5, 0]}),
    dict(name="interleaved", model="gpt2-xl", step={"dtype": "bf16"},
         plan={"pp": 4, "dp": 2, "schedule": "interleaved", "virtual_stages": 3},
         read={**GPT2_XL, "layers": [4] * 12, "virtual_pipeline_model_parallel_size": 3}),
    dict(name="interleaved on two stages", model="gpt2-xl", step={"dtype": "bf16"},
         plan={"pp": 2, "schedule": "interleaved", "virtual_stages": 2},
         read={**GPT2_XL, "layers": [12] * 4, "virtual_pipeline_model_parallel_size": 2}),
    dict(name="interleaved and uneven", model="gpt2-xl", step={"dtype": "bf16"},
         plan={"pp": 4, "schedule": "interleaved", "virtual_stages": 2, "partition": [5, 6, 6, 6, 6, 6, 6, 7]},
         since=13, lacks="--pipeline-model-parallel-layout",
         read={**GPT2_XL, "layers": [5, 6, 6, 6, 6, 6, 6, 7], "virtual_pipeline_model_parallel_size": 2}),
    dict(name="tensor and sequence parallel, ZeRO 1, all recomputed", model="llama3.1-8b",
         step={"dtype": "bf16", "recompute": {"granularity": "full", "method": "block", "layers": 3}},
         plan={"tp": 4, "dp": 2, "sequence_parallel": True, "zero": 1}, since=10, lacks="--use-rope-scaling",
         read={**LLAMA, "layers": [32], "sequence_parallel": True, "use_distributed_optimizer": True,
               "recompute_granularity": "full", "recompute_method": "block", "recompute_num_layers": 3,
               "tensor_model_parallel_size": 4, "data_parallel_size": 2}),
    dict(name="recomputed evenly", model="gpt2-xl", step={"recompute": {"granularity": "full", "layers": 2}}, plan={"pp": 2},
         read={**GPT2_XL, "layers": [24, 24], "recompute_granularity": "full", "recompute_method": "uniform",
               "recompute_num_layers": 2}),
    dict(name="attention recomputed", model="gpt2-xl", step={"dtype": "bf16", "recompute": {"granularity": "selective"}},
         plan={"dp": 4, "zero": 1},
         read={**GPT2_XL, "layers": [48], "recompute_granularity": "selective", "use_distributed_optimizer": True}),
    dict(name="unfused attention", model="gpt2-xl", step={"dtype": "bf16", "attention": "unfused"}, plan={},
         since=11, lacks="--attention-backend", read={**GPT2_XL, "attention_backend": "AttnBackend.unfused"}),
    dict(name="tensor and context parallel", model="llama-tiny", step={"dtype": "bf16", "optimizer": "sgd"},
         plan={"tp": 2, "cp": 2, "dp": 2},
         read={"tensor_model_parallel_size": 2, "context_parallel_size": 2, "data_parallel_size": 2, "optimizer": "sgd"}),
    dict(name="biases of queries, keys and values", model="qwen2.5-0.5b", step={"dtype": "bf16"}, plan={"tp": 2},
         read={"layers": [24], "add_qkv_bias": True, "add_bias_linear": False, "norm_epsilon": 1e-6, "num_query_groups": 2,
               "untie_embeddings_and_output_weights": False, "rotary_base": 1000000}),
    dict(name="BERT", model="bert-base-uncased", step={}, plan={"dp": 2},
         read={"layers": [12], "bert_binary_head": False, "norm_epsilon": 1e-12}),
    dict(name="8-bit floats", model="gpt2-xl", step={"dtype": "bf16", "fp8": True}, plan={"dp": 2},
         read={**GPT2_XL, "fp8": "hybrid"}),
]

failures = 0


def fail(text):
    global failures
    failures += 1
    print(f"FAILED: {text}")


def nadi(*words):
    ended = subprocess.run([sys.argv[1], *words], capture_output=True, text=True)
    if ended.returncode != 0:
        sys.exit(f"nadi {shlex.join(words)} failed: {ended.stderr}")
    return json.loads(ended.stdout), ended.stderr


def submitted(case, profiler):
    """The words and variables of the job that a plan makes, and what was said about it."""
    step = {"seq_length": 512, "global_batch_size": 64, "micro_batch_size": 2, **case["step"]}
    with tempfile.TemporaryDirectory() as folder:
        plan, job = os.path.join(folder, "plan.json"), os.path.join(folder, "job.json")
        with open(plan, "w") as file:
            json.dump({"nadi_plan": 1, "model": case["model"], "step": step, "plan": case["plan"]}, file)
        with open(job, "w") as file:
            json.dump({"nadi_job": 1, "run": {"megatron": ["pretrain_gpt.py", *STEPS, "--vocab-size", "50256"]}}, file)
        answer, said = nadi("job", "submit", job, "--plan", plan, "--dry-run", "--json", *profiler)
    return answer, said


def written_command(model, *words):
    """The words behind the script, and the variables in front, of the command that `nadi plan` prints."""
    answer, _ = nadi("plan", model, *words, "--explain", "1", "--json")
    command = shlex.split(answer["explanations"][0]["megatron"]["command"].replace("\\\n", " "))
    script = command.index("pretrain_gpt.py")
    variables = dict(word.split("=", 1) for word in command[:command.index("torchrun")])
    return command[script + 1:], variables


def read_by(folder, words, variables, ranks):
    """What Megatron made of the words, or what it said."""
    environment = {name: value for name, value in os.environ.items() if name != "CUDA_DEVICE_MAX_CONNECTIONS"}
    ended = subprocess.run([sys.executable, __file__, "--read", folder, *words], capture_output=True, text=True,
                           env={**environment, **variables, "WORLD_SIZE": str(ranks), "RANK": "0"})
    read = [line for line in ended.stdout.splitlines() if line.startswith("read: ")]
    if ended.returncode == 0 and len(read) == 1:
        return json.loads(read[0][len("read: "):]), ""
    return None, "\n".join(ended.stderr.strip().splitlines()[-3:])


def check(where, folder, words, variables, ranks, wanted):
    values, said = read_by(folder, words, variables, ranks)
    if values is None:
        return fail(f"{where}: {said}\n  {shlex.join(words)}")
    for name, value in wanted.items():
        if values.get(name) != value:
            fail(f"{where}: {name} is {values.get(name)!r}, not {value!r}")


def version_of(folder):
    with open(os.path.join(folder, "megatron", "core", "package_info.py")) as file:
        return int(re.search(r"^MINOR = (\d+)", file.read(), re.MULTILINE).group(1))


def main():
    folders = [folder for folder in os.environ.get("NADI_MEGATRON", "").split(":") if folder]
    if not folders:
        print("skipped: NADI_MEGATRON names no checkout of Megatron-LM")
        sys.exit(77)
    jobs = [(case, *submitted(case, [])) for case in CASES]
    printed = written_command("gpt2-large", "--cluster", "a10-8x4", "--tp", "2", "--pp", "1", "--dp", "16",
                              "--seq-length", "1024", "--global-batch-size", "64", "--micro-batch-size", "1")
    profiled, _ = submitted(CASES[0], ["--nsys", "10-12"])
    traced, _ = submitted(CASES[0], ["--trace", "10-12"])
    for folder in folders:
        minor = version_of(folder)
        for case, answer, said in jobs:
            where = f"Megatron Core 0.{minor}, {case['name']}"
            words, variables = answer["job"]["run"]["megatron"][1:], answer["job"]["environment"]["set"]
            if minor >= case.get("since", 0):
                wanted = {"micro_batch_size": 2, "global_batch_size": 64, **case["read"]}
                check(where, folder, words, variables, answer["ranks"], wanted)
                continue
            # An earlier version refuses it, and the user was told.
            values, refusal = read_by(folder, words, variables, answer["ranks"])
            if values is not None or case["lacks"] not in refusal:
                fail(f"{where}: not refused for {case['lacks']}: {refusal}")
            if f"note: {case['lacks']}" not in said or f"up to Megatron Core 0.{case['since'] - 1} lack it" not in said:
                fail(f"{case['name']}: nothing was said about versions: {said}")
        check(f"Megatron Core 0.{minor}, nadi plan", folder, *printed, 32,
              {"num_layers": 36, "hidden_size": 1280, "num_attention_heads": 20, "seq_length": 1024, "layers": [36],
               "tensor_model_parallel_size": 2, "data_parallel_size": 16})
        script_flags = {"profile": True, "profile_step_start": 9, "profile_step_end": 12}
        check(f"Megatron Core 0.{minor}, --nsys", folder, *with_profiler(profiled), 8,
              {**script_flags, "profile_ranks": str(list(range(8)))})
        if minor >= 10:
            check(f"Megatron Core 0.{minor}, --trace", folder, *with_profiler(traced), 8,
                  {**script_flags, "profile_ranks": str(list(range(8))), "use_pytorch_profiler": True})
    if failures:
        sys.exit(f"{failures} failures")
    print(f"{len(folders)} versions of Megatron-LM read the flags of {len(CASES)} plans")


def with_profiler(answer):
    """All words of the script's command, those that profile included, and its variables."""
    command = re.search(r"local command=\((.*?)\)\n", answer["scripts"][0], re.DOTALL).group(1)
    words = shlex.split(command.replace("\n", " "))
    return words[words.index("pretrain_gpt.py") + 1:], answer["job"]["environment"]["set"]


if sys.argv[1] == "--read":
    read_here(sys.argv[2], sys.argv[3:])
else:
    main()
