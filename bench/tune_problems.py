"""The test problems of tune_regret.py, as tune_problems.cpp has them: each a space, a function and its minimum.

A space is a list of (name, kind, ...): ("x", "float", low, high, log), ("n", "int", low, high, step, log),
("c", "choice", number_of_choices); a last entry (parent, choices) makes a parameter conditional. A function takes a
dictionary of the active parameters, choices as indices.
"""
import math


def floats(dimensions, low, high):
    return [(f"x{i}", "float", low, high, False, None) for i in range(dimensions)]


def coordinates(p):
    return [p[f"x{i}"] for i in range(len(p))]


def branin(p):
    x, y = coordinates(p)
    a = y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6
    return a * a + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


HARTMANN_A = [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
HARTMANN_P = [[1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991],
              [2348, 1451, 3522, 2883, 3047, 6650], [4047, 8828, 8732, 5743, 1091, 381]]
HARTMANN_C = [1.0, 1.2, 3.0, 3.2]


def hartmann6(p):
    x = coordinates(p)
    total = 0.0
    for c, a, q in zip(HARTMANN_C, HARTMANN_A, HARTMANN_P):
        total -= c * math.exp(-sum(a[j] * (x[j] - q[j] * 1e-4)**2 for j in range(6)))
    return total


def rosenbrock(p):
    x = coordinates(p)
    return sum(100 * (x[i + 1] - x[i]**2)**2 + (1 - x[i])**2 for i in range(len(x) - 1))


def wave1(p):
    x = p["x0"]
    return (6 * x - 2)**2 * math.sin(12 * x - 4)


def ackley(p):
    # Moved, so that the middle of the space is not the minimum.
    x = [v - 7.3 + 1.1 * i for i, v in enumerate(coordinates(p))]
    n = len(x)
    return (-20 * math.exp(-0.2 * math.sqrt(sum(v * v for v in x) / n))
            - math.exp(sum(math.cos(2 * math.pi * v) for v in x) / n) + 20 + math.e)


def levy(p):
    w = [1 + (v - 1) / 4 for v in coordinates(p)]
    total = math.sin(math.pi * w[0])**2 + (w[-1] - 1)**2 * (1 + math.sin(2 * math.pi * w[-1])**2)
    return total + sum((v - 1)**2 * (1 + 10 * math.sin(math.pi * v + 1)**2) for v in w[:-1])


def styblinski_tang(p):
    return sum(v**4 - 16 * v * v + 5 * v for v in coordinates(p)) / 2


def griewank(p):
    x = [v - 120 + 35 * i for i, v in enumerate(coordinates(p))]
    product = 1.0
    for i, v in enumerate(x):
        product *= math.cos(v / math.sqrt(i + 1))
    return sum(v * v for v in x) / 4000 - product + 1


def rotated_ellipsoid(p):
    # Householder's reflection I - 2 v v'/v'v turns the axes; they have condition 1,000.
    x = coordinates(p)
    n = len(x)
    z = [x[i] - 1.7 + 0.6 * i for i in range(n)]
    v = [1.0 + i for i in range(n)]
    factor = 2 * sum(a * b for a, b in zip(v, z)) / sum(a * a for a in v)
    return sum(1000**(i / (n - 1)) * (z[i] - factor * v[i])**2 for i in range(n))


def rastrigin(p):
    x = [v - 1.3 + 0.4 * i for i, v in enumerate(coordinates(p))]
    return sum(v * v - 10 * math.cos(2 * math.pi * v) + 10 for v in x)


def michalewicz(p):
    return -sum(math.sin(v) * math.sin((i + 1) * v * v / math.pi)**20 for i, v in enumerate(coordinates(p)))


def camel(p):
    x, y = coordinates(p)
    return (4 - 2.1 * x**2 + x**4 / 3) * x**2 + x * y + (4 * y**2 - 4) * y**2


SHEKEL_WELLS = [(4, 4, 4, 4), (1, 1, 1, 1), (8, 8, 8, 8), (6, 6, 6, 6), (3, 7, 3, 7),
                (2, 9, 2, 9), (5, 5, 3, 3), (8, 1, 8, 1), (6, 2, 6, 2), (7, 3.6, 7, 3.6)]
SHEKEL_WIDTHS = [0.1, 0.2, 0.2, 0.4, 0.4, 0.6, 0.3, 0.7, 0.5, 0.5]


def shekel(p):
    x = coordinates(p)
    return -sum(1 / (c + sum((v - w)**2 for v, w in zip(x, well))) for c, well in zip(SHEKEL_WIDTHS, SHEKEL_WELLS))


def dixon_price(p):
    x = coordinates(p)
    return (x[0] - 1)**2 + sum((i + 1) * (2 * x[i]**2 - x[i - 1])**2 for i in range(1, len(x)))


def sphere(p):
    return sum((v - 2.1 + 0.25 * i)**2 for i, v in enumerate(coordinates(p)))


def optimizer_choice(p):
    # The learning rate that fits grows with the batch; each optimizer has its own rate and one more parameter.
    batch = math.log2(p["batch"])
    loss = 0.02 * (batch - 7)**2 + 0.15 * (math.log10(p["decay"]) + 2)**2 + 0.3 * (p["warmup"] / 1000 - 0.6)**2
    if p["optimizer"] == 0:
        return loss + 0.15 + 0.5 * (math.log10(p["sgd_rate"]) + 1 - 0.15 * (batch - 7))**2 + 2 * (p["momentum"] - 0.9)**2
    if p["optimizer"] == 1:
        return loss + 0.5 * (math.log10(p["adam_rate"]) + 3.5 - 0.15 * (batch - 7))**2 + 5 * (p["beta2"] - 0.95)**2
    return loss + 0.3 + 0.5 * (math.log10(p["factor_rate"]) + 2 - 0.15 * (batch - 7))**2


def kernel(p):
    # Time of a tiled matrix product of 1920 x 1536 x 512: waves of tiles, traffic, stages that hide it, shared memory.
    m, n, k, stages = p["tile_m"], p["tile_n"], p["tile_k"], p["stages"]
    warps, vector = 2**p["warps"], 2**p["vector"]
    tiles = math.ceil(1920 / m) * math.ceil(1536 / n)
    shared = stages * (m + n) * k * 2
    per_core = max(1, min(4, 163840 // shared, 2048 // (32 * warps)))
    waves = math.ceil(tiles / (108 * per_core))
    work = m * n * 512 / (64.0 * warps) * (1 + 0.3 * abs(math.log2(m * n / (1024.0 * warps))))
    traffic = (m + n) * 512 / (16.0 * vector) * (1.6 if p["layout"] == 0 else 1.25 if p["layout"] == 1 else 1.0)
    exposed = traffic * max(0.1, 1 - 0.28 * (stages - 1)) * (1.4 if vector == 8 and p["layout"] == 1 else 1.0)
    penalty = 1 + 0.002 * (512 / k) * stages
    if shared > 163840:
        penalty *= 4
    return waves * per_core * (work + exposed) * penalty / 1000


def plan(p):
    # A step of training on 64 devices: compute, bubble, communication, recomputation, and a wall of memory.
    tensor, pipeline, micro = 2**p["tensor"], 2**p["pipeline"], 2**p["micro"]
    data = 64 // (tensor * pipeline)
    count = max(1, 512 // (data * micro))
    chunks = p["chunks"] if p["schedule"] == 1 else 1
    kept = {0: 1.0, 1: 0.6}.get(p["recompute"])
    extra = {0: 0.0, 1: 0.05}.get(p["recompute"])
    if kept is None:
        share = p["layers"] / 20
        kept, extra = 1 - 0.9 * share, 0.33 * share
    compute = 100.0 / (1 - 0.35 / micro) * (1 + 0.06 * p["tensor"]**1.5) * (1 + extra)
    bubble = compute * (pipeline - 1) / (count * chunks)
    messages = 2.0 * (pipeline > 1) * chunks + 6.0 * (tensor - 1) / tensor
    bucket = 24.0 * (data - 1) / data + 0.4 * abs(math.log2(p["bucket"] / 40.0)) * data**0.5
    reduction = bucket * (0.25 if p["overlap"] == 1 else 1.0)
    memory = 160.0 / (tensor * pipeline) * 1.4 + 9.0 * kept * micro * min(pipeline, count) / (tensor * pipeline) * (1 + 0.1 * (chunks - 1))
    wall = 30.0 * max(0.0, memory - 60.0) + (150.0 if memory > 60.0 else 0.0)
    return compute + bubble + messages + reduction + wall


MIXED_OPTIMIZER = [
    ("optimizer", "choice", 3, None),
    ("batch", "int", 8, 1024, 1, True, None),
    ("decay", "float", 1e-6, 1.0, True, None),
    ("warmup", "int", 0, 2000, 50, False, None),
    ("sgd_rate", "float", 1e-4, 10.0, True, ("optimizer", (0,))),
    ("momentum", "float", 0.0, 0.999, False, ("optimizer", (0,))),
    ("adam_rate", "float", 1e-6, 0.1, True, ("optimizer", (1,))),
    ("beta2", "float", 0.8, 0.9999, False, ("optimizer", (1,))),
    ("factor_rate", "float", 1e-5, 1.0, True, ("optimizer", (2,))),
]
MIXED_KERNEL = [
    ("tile_m", "int", 16, 256, 16, False, None),
    ("tile_n", "int", 16, 256, 16, False, None),
    ("tile_k", "int", 8, 64, 8, False, None),
    ("stages", "int", 1, 6, 1, False, None),
    ("warps", "choice", 5, None),
    ("layout", "choice", 3, None),
    ("vector", "choice", 4, None),
]
MIXED_PLAN = [
    ("tensor", "choice", 4, None),
    ("pipeline", "choice", 4, None),
    ("micro", "choice", 5, None),
    ("schedule", "choice", 2, None),
    ("chunks", "int", 2, 8, 1, False, ("schedule", (1,))),
    ("recompute", "choice", 3, None),
    ("layers", "int", 1, 20, 1, False, ("recompute", (2,))),
    ("bucket", "int", 1, 1024, 1, True, None),
    ("overlap", "choice", 2, None),
]

# name: space, function, minimum, standard deviation of the noise that is added to each observation
PROBLEMS = {
    "branin": ([("x0", "float", -5.0, 10.0, False, None), ("x1", "float", 0.0, 15.0, False, None)], branin, 0.39788735772973816, 0.0),
    "hartmann6": (floats(6, 0.0, 1.0), hartmann6, -3.322368011415515, 0.0),
    "rosenbrock5": (floats(5, -5.0, 10.0), rosenbrock, 0.0, 0.0),
    "wave1": (floats(1, 0.0, 1.0), wave1, -6.020740055767083, 0.0),
    "ackley10": (floats(10, -32.768, 32.768), ackley, 0.0, 0.0),
    "levy8": (floats(8, -10.0, 10.0), levy, 0.0, 0.0),
    "styblinski4": (floats(4, -5.0, 5.0), styblinski_tang, -39.16616570377142 * 4, 0.0),
    "griewank6": (floats(6, -600.0, 600.0), griewank, 0.0, 0.0),
    "ellipsoid6": (floats(6, -5.0, 5.0), rotated_ellipsoid, 0.0, 0.0),
    "sphere20": (floats(20, -5.0, 5.0), sphere, 0.0, 0.0),
    "rastrigin5": (floats(5, -5.12, 5.12), rastrigin, 0.0, 0.0),
    "michalewicz5": (floats(5, 0.0, math.pi), michalewicz, -4.687658179088148, 0.0),
    "camel2": ([("x0", "float", -3.0, 3.0, False, None), ("x1", "float", -2.0, 2.0, False, None)], camel, -1.0316284534898774, 0.0),
    "shekel4": (floats(4, 0.0, 10.0), shekel, -10.536443153483527, 0.0),
    "dixon_price4": (floats(4, -10.0, 10.0), dixon_price, 0.0, 0.0),
    "noisy_branin": ([("x0", "float", -5.0, 10.0, False, None), ("x1", "float", 0.0, 15.0, False, None)], branin, 0.39788735772973816, 2.0),
    "noisy_hartmann6": (floats(6, 0.0, 1.0), hartmann6, -3.322368011415515, 0.2),
    "optimizer": (MIXED_OPTIMIZER, optimizer_choice, 0.0, 0.0),
    "kernel": (MIXED_KERNEL, kernel, 16.312414430556434, 0.0),
    "plan": (MIXED_PLAN, plan, 137.6746575342466, 0.0),
}
