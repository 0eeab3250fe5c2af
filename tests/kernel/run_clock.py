#!/usr/bin/env python3
"""Measures the clock of this machine's GPU against the time since a load began: one JSON object for each series.

  run_clock.py [--out FILE.jsonl] [--only NAME,...] [--seconds S] [--card N]

A load is launched back to back; between two launches a probe of one small block a SM reads clock64 and globaltimer, so
that each launch has its mean clock on the SMs (the median over them). Another process reads NVML every millisecond:
power now, mean power, energy, clock, and the reasons that hold the clock. Loads: `product` (8192, normal data), `zeros`
(the same on zeros), `attention` (16 heads, 8192, d = 128, PyTorch's fastest), `vector` (multiply-adds on registers),
`memory` (copies of 0.5 GB), `mix` (a product, then a copy), `rested` (attention, 2 ms of rest behind each launch). Each
follows REST seconds of rest. Then, for attention and products: a second of load, a rest of 0.1 ms to 1 s, 0.1 s of load
(`after`). A row: t (ms since the load began, at a launch's end), clock (MHz), time (us a launch), nvml: [t ms, power now W,
mean power W, energy J, clock MHz, reasons]. Launches beyond the first 200 ms are joined in runs of 20 ms.
"""
import argparse, json, multiprocessing, statistics, subprocess, sys, time

REST = 2.5
PROBE = r'''
extern "C" __global__ void read_clocks(unsigned long long* out) {
  if (threadIdx.x) return;
  unsigned sm; unsigned long long t, c;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(c));
  out[2 * sm] = t; out[2 * sm + 1] = c;
}
extern "C" __global__ void multiply_adds(float* out, int n) {
  float x[8];
  for (int i = 0; i < 8; ++i) x[i] = threadIdx.x * 0.001f + i;
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < 8; ++i) x[i] = fmaf(x[i], 0.999f, 0.37f);
  float s = 0;
  for (int i = 0; i < 8; ++i) s += x[i];
  if (s == -1.0f) out[0] = s;
}
'''


def poll(card, stop, pipe):
    """Collects NVML's readings every millisecond until `stop`, as (host seconds, W now, W mean, J, MHz, reasons)."""
    import pynvml as nvml
    nvml.nvmlInit()
    device = nvml.nvmlDeviceGetHandleByIndex(card)
    rows = []

    def instant():
        try:
            value = nvml.nvmlDeviceGetFieldValues(device, [nvml.NVML_FI_DEV_POWER_INSTANT])[0]
            return value.value.uiVal / 1e3 if value.nvmlReturn == 0 else None
        except Exception:
            return None
    reasons = getattr(nvml, "nvmlDeviceGetCurrentClocksEventReasons", None) or nvml.nvmlDeviceGetCurrentClocksThrottleReasons
    while not stop.is_set():
        rows.append((time.time(), instant(), nvml.nvmlDeviceGetPowerUsage(device) / 1e3,
                     nvml.nvmlDeviceGetTotalEnergyConsumption(device) / 1e3,
                     nvml.nvmlDeviceGetClockInfo(device, nvml.NVML_CLOCK_SM), reasons(device)))
        time.sleep(0.001)
    pipe.send(rows)


class Polled:
    def __init__(self, card):
        self.stop = multiprocessing.get_context("spawn").Event()
        self.pipe, child = multiprocessing.get_context("spawn").Pipe()
        self.process = multiprocessing.get_context("spawn").Process(target=poll, args=(card, self.stop, child))

    def __enter__(self):
        self.process.start()
        time.sleep(1.0)  # the process has begun to read
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.rows = self.pipe.recv()
        self.process.join()


def thinned(rows):
    """Returns the readings that differ from the one before, or are 20 ms later."""
    kept = []
    for row in rows:
        if not kept or row[1:] != kept[-1][1:] and (row[3] != kept[-1][3] or row[1] != kept[-1][1]) or row[0] - kept[-1][0] > 20:
            kept.append(row)
    return kept


class Card:
    def __init__(self, number):
        import cupy, torch
        self.torch, self.cupy, self.number = torch, cupy, number
        torch.cuda.set_device(number)
        module = cupy.RawModule(code=PROBE, options=("--std=c++17",))
        self.probe_kernel, self.fma_kernel = module.get_function("read_clocks"), module.get_function("multiply_adds")
        self.sms = torch.cuda.get_device_properties(number).multi_processor_count
        self.stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)
        self.offset = self.host_offset()

    def probe(self, into):
        with self.stream:
            self.probe_kernel((self.sms,), (32,), (into,))

    def host_offset(self):
        """Returns the seconds by which the host's clock is ahead of globaltimer."""
        best = None
        for _ in range(20):
            out = self.cupy.zeros(2 * self.sms, dtype="uint64")
            self.torch.cuda.synchronize()
            before = time.time()
            self.probe(out)
            self.torch.cuda.synchronize()
            after = time.time()
            if best is None or after - before < best[0]:
                best = (after - before, (before + after) / 2 - int(out.get()[::2].max()) / 1e9)
        return best[1]

    def loads(self):
        torch = self.torch
        from torch.nn.attention import SDPBackend, sdpa_kernel
        make = lambda *shape: torch.randn(*shape, device="cuda", dtype=torch.bfloat16)
        x, y, c = make(8192, 8192), make(8192, 8192), make(8192, 8192)
        zx, zy = torch.zeros_like(x), torch.zeros_like(y)
        q, k, v = (make(1, 16, 8192, 128) for _ in range(3))
        a, b = make(128 << 20), make(128 << 20)
        out = self.cupy.zeros(1, dtype="float32")

        def attention():
            with sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION], set_priority=True):
                torch.nn.functional.scaled_dot_product_attention(q, k, v)

        def vector():
            with self.stream:
                self.fma_kernel((self.sms * 2,), (1024,), (out, 16384))

        def mix():
            torch.mm(x, y, out=c)
            b.copy_(a)

        def rested():
            attention()
            torch.cuda._sleep(3_300_000)
        return {"product": lambda: torch.mm(x, y, out=c), "zeros": lambda: torch.mm(zx, zy, out=c), "attention": attention,
                "vector": vector, "memory": lambda: [b.copy_(a) for _ in range(4)], "mix": mix, "rested": rested}

    def series(self, load, seconds, rest=None, again=0):
        """Launches for so long, and after a pause for `again` seconds more. Returns (t ns at each launch's end, MHz,
        ns), the host's time when the load began, and the index of the first row behind the rest. Of `rested` launches
        the probe behind the rest ends a launch; the rest is a row of its own, one thread at work."""
        torch, most, second = self.torch, 20000, None
        pool = self.cupy.zeros((most, 2 * self.sms), dtype="uint64")
        torch.cuda.synchronize()
        started, marks, count = time.time(), [], 1
        self.probe(pool[0])
        while time.time() - started < seconds + again and count < most:
            if rest and not second and time.time() - started > seconds:
                torch.cuda._sleep(int(rest * 1.98e9))
                second = count
            else:
                load()
            self.probe(pool[count])
            count += 1
            if count % 16 == 0:  # at most 64 launches wait on the card
                marks.append(torch.cuda.Event())
                marks[-1].record()
                if len(marks) > 4:
                    marks.pop(0).synchronize()
        torch.cuda.synchronize()
        read = pool[:count].get().reshape(count, self.sms, 2).astype("int64")
        rows = []
        first = int(read[0, :, 0].max())
        for before, after in zip(read, read[1:]):
            spans = [(int(a[0] - b[0]), int(a[1] - b[1])) for b, a in zip(before, after) if a[0] and b[0] and a[0] > b[0]]
            clock = statistics.median(c / t * 1e3 for t, c in spans)
            rows.append((int(after[:, 0].max()) - first, clock, statistics.median(t for t, _ in spans)))
        return rows, first / 1e9 + self.offset, second


def joined(rows):
    """Returns the clock by time; after 200 ms the mean of every 20 ms."""
    out, run = [], []
    for t, clock, span in rows:
        if t < 200e6:
            out.append((t, clock, span))
            continue
        run.append((t, clock, span))
        if run[-1][0] - run[0][0] > 20e6:
            total = sum(s for _, _, s in run)
            out.append((run[-1][0], sum(c * s for _, c, s in run) / total, statistics.median(s for _, _, s in run)))
            run = []
    return [[round(t / 1e6, 3), round(c, 1), round(s / 1e3, 2)] for t, c, s in out]


def nvml_rows(polled, began):
    rows = [[round((t - began) * 1e3, 1), now, mean, round(energy - polled.rows[0][3], 3), clock, reasons]
            for t, now, mean, energy, clock, reasons in polled.rows if t - began > -0.2]
    return thinned(rows)


def about(number):
    ask = "name,uuid,driver_version,power.limit,temperature.gpu,clocks.max.sm"
    line = subprocess.run(["nvidia-smi", f"--id={number}", f"--query-gpu={ask}", "--format=csv,noheader,nounits"],
                          capture_output=True, text=True).stdout.strip().split(", ")
    return {"device": line[0], "card": line[1][-6:], "driver": line[2], "limit": float(line[3]), "temperature": int(line[4]),
            "maximum": int(line[5]), "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out")
    parser.add_argument("--only")
    parser.add_argument("--seconds", type=float, default=2.5)
    parser.add_argument("--card", type=int, default=0)
    arguments = parser.parse_args()
    card = Card(arguments.card)
    loads = card.loads()
    out = open(arguments.out, "a") if arguments.out else sys.stdout
    head = about(arguments.card)
    for load in loads.values():  # compiled, chosen
        for _ in range(2):
            load()
    card.torch.cuda.synchronize()

    def write(row):
        print(json.dumps({**row, **about(arguments.card)}), file=out, flush=True)
        print(row["load"], row.get("rest"), [r for r in row["rows"] if r[0] < 2][:1], row["rows"][-1], file=sys.stderr)
    for name, load in loads.items():
        if arguments.only and name not in arguments.only.split(","):
            continue
        with Polled(arguments.card) as polled:
            time.sleep(REST - 1)
            rows, began, _ = card.series(load, arguments.seconds)
        write({"series": "begin", "load": name, "rest": REST, "rows": joined(rows), "nvml": nvml_rows(polled, began)})
    for name in ("attention", "product"):
        if arguments.only and "after" not in arguments.only.split(","):
            break
        card.series(loads[name], 1.5)
        for rest in (1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0):
            rows, _, second = card.series(loads[name], 1.2, rest, 0.1 + rest)
            before, after = rows[(second - 1) // 2:second - 1], rows[second:]
            begun = rows[second - 1][0]
            write({"series": "after", "load": name, "rest": rest, "rows": joined([(t - begun, c, n) for t, c, n in after]),
                   "before": round(statistics.mean(c for _, c, _ in before), 1)})


if __name__ == "__main__":
    main()
