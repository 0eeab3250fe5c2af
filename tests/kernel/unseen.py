#!/usr/bin/env python3
"""Draws questions of kinds that no fit and no test has had, by a seed; predicts each before it is measured, then sweeps
each.

  unseen.py --seed 26 --predict FILE.jsonl  --program build/napkin     what select answers for each, no GPU needed
  unseen.py --seed 26 --compile             --program build/napkin     compiles what the sweeps run into the cache, no GPU needed
  unseen.py --seed 26 --measure FILE.jsonl  --program build/napkin     napkin validate --sweep of each on the GPU here [--kinds A,B]

The same seed draws the same questions. Sizes are ragged on purpose; the batch is what makes a launch take some
hundred microseconds (attention: 0.4 TFLOP; decoding: 1 GB of keys and values). With --questions card nothing is drawn:
they are what a card that was never measured is asked, attention at twelve shapes and products at three.
"""
import argparse, json, math, random, subprocess, sys

LAYERS = [(4096, 14336), (14336, 4096), (8192, 28672), (28672, 8192), (5120, 13824), (8192, 10240)]  # contracted, columns


def batch(flops_of_one, wanted=4e11):
    return max(1, round(wanted / flops_of_one))


def attention(kind, mask, lengths=None, **shape):
    return {"kind": kind, "algorithm": "attention", "kernel": "attention_sm90", "mask": mask, "shape": shape, "lengths": lengths}


def matmul(kind, a, b, c):
    return {"kind": kind, "algorithm": "matmul", "kernel": "matmul_sm90", "mask": None, "shape": {"a": a, "b": b, "c": c}, "lengths": None}


def ragged(draw, low, high):
    return round(math.exp(draw.uniform(math.log(low), math.log(high)))) | 1


def questions(seed):
    """Returns the questions in a fixed order: each kind draws by its own seed, so that one can change without the
    others."""
    out = []
    draw = random.Random(f"{seed} grouped")
    for mask in ("causal", "causal", "causal", "window"):
        h, g, d, s = draw.choice((4, 8)), draw.choice((2, 4, 8)), draw.choice((64, 128)), ragged(draw, 1500, 6000)
        if mask == "window":
            mask = f"{draw.randrange(300, 1500)},0"
        out.append(attention("grouped", mask, b=batch(2 * h * g * s * s * d), h=h, g=g, q=s, x=s, d=d))
    draw = random.Random(f"{seed} unequal")
    for mask in ("none", "none", "causal", "causal"):
        h, d, q, x = draw.choice((8, 16)), draw.choice((64, 128, 256)), ragged(draw, 200, 3000), ragged(draw, 3000, 12000)
        out.append(attention("unequal", mask, b=batch(4 * h * q * x * d), h=h, q=q, x=x, d=d))
    draw = random.Random(f"{seed} latent")
    for mask in ("none", "causal", "causal"):
        s = 128 * draw.randrange(6, 60)
        out.append(attention("latent", mask, b=batch(2 * 16 * s * s * 320), h=16, q=s, x=s, d=192, dv=128))
    draw = random.Random(f"{seed} packed")
    for mask in ("none", "causal", "causal"):
        lengths = [ragged(draw, 64, 8192) for _ in range(draw.randrange(6, 25))]
        out.append(attention("packed", mask, lengths=",".join(map(str, lengths)), h=16, d=draw.choice((64, 128))))
    draw = random.Random(f"{seed} decode")
    for mask in ("none", "causal", "none", "causal"):
        g, q, x = draw.choice((4, 8)), draw.randrange(1, 17), ragged(draw, 8192, 65536)
        out.append(attention("decode", mask, b=max(1, round(1e9 / (4 * 8 * x * 128))), h=8, g=g, q=q, x=x, d=128))
    draw = random.Random(f"{seed} layers")
    for b, c in draw.sample(LAYERS, 4):
        out.append(matmul("layers", draw.choice((1024, 2048, 4096, ragged(draw, 1000, 5000))), b, c))
    draw = random.Random(f"{seed} few_rows")
    for rows in (draw.randrange(16, 33), draw.randrange(33, 65), 64, 128):
        out.append(matmul("few_rows", rows, *draw.choice(LAYERS)))
    return out


def card():
    """Returns twelve of README.md's shapes (b s = 16384, h d = 2048) and three products, none of which is a calibration
    row."""
    out = []
    for d in (64, 128, 256):
        for mask in ("none", "causal"):
            for s in (1024, 8192):
                out.append(attention("attention", mask, b=16384 // s, h=2048 // d, q=s, x=s, d=d))
    return out + [matmul("products", n, n, n) for n in (2048, 6144, 8192)]


def asked(a):
    return card() if a.questions == "card" else questions(a.seed)


def words(question):
    out = [question["algorithm"], "--kernel", question["kernel"], "--shape", ",".join(f"{k}={v}" for k, v in question["shape"].items())]
    if question["lengths"]:
        out += ["--lengths", question["lengths"]]
    if question["mask"] == "causal":
        out.append("--causal")
    elif question["mask"] not in (None, "none"):
        out += ["--window", question["mask"]]
    return out


def predict(a, out):
    for question in asked(a):
        done = subprocess.run([a.program, "select", *words(question), "--gpu", a.gpu, "--top", "5", "--json"], capture_output=True, text=True, check=True)
        answer = json.loads(done.stdout)
        row = dict(question, seed=a.seed, gpu=a.gpu, tile=answer["tile"], predicted=answer["predicted"], alternatives=answer["alternatives"])
        out.write(json.dumps(row) + "\n")
        p = answer["predicted"]
        print(question["kind"], " ".join(words(question)[4:]), f"{p['time'] * 1e6:.1f} us", p["bound"], answer["tile"], flush=True)


def measure(a):
    """Measures with a process for each kind, mask and list of lengths, which plans and warms up once for all of its
    questions."""
    groups = {}
    for question in asked(a):
        if not a.kinds or question["kind"] in a.kinds.split(","):
            groups.setdefault((question["kind"], question["mask"], question["lengths"]), []).append(words(question))
    bad = 0
    for (kind, mask, lengths), those in groups.items():
        shapes = [w for each in those for w in ("--shape", each[4])]
        rest = [w for w in those[0][:3]] + those[0][5:]
        command = [a.program, "validate", *rest, *shapes, "--sweep", "--tiles", str(a.tiles), "--random", str(a.random), "--seed", str(a.seed)]
        command += ["--compile", "--gpu", a.gpu] if a.compile else ["--pace", str(a.pace), "--settle", str(a.settle), "--rows", "32", "--out", a.measure]
        print("$", " ".join(command), flush=True)
        bad |= subprocess.run(command).returncode
    return bad


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--program", required=True)
    options.add_argument("--seed", type=int, required=True)
    options.add_argument("--questions", choices=("kinds", "card"), default="kinds")
    options.add_argument("--gpu", default="h200-sxm")
    options.add_argument("--predict")
    options.add_argument("--measure")
    options.add_argument("--compile", action="store_true")
    options.add_argument("--kinds")
    options.add_argument("--tiles", type=int, default=10)
    options.add_argument("--random", type=int, default=2)
    options.add_argument("--pace", type=float, default=0.15)
    options.add_argument("--settle", type=float, default=8)
    a = options.parse_args()
    if a.predict:
        with open(a.predict, "w") as out:
            predict(a, out)
    return measure(a) if a.measure or a.compile else 0


if __name__ == "__main__":
    sys.exit(main())
