"""A session used by many threads, after a fork, and without the interpreter's lock."""

import os
import threading
import time

import napkin


def test_threads_agree():
    session = napkin.Session()
    sizes = [1024 + 64 * n for n in range(16)]
    expected = [a.to_dict() for a in napkin.select_many("attention", [{"q": s, "x": s} for s in sizes], gpu="h200-sxm", h=8, d=64, top=5, detail=True)]
    wrong = []

    def ask():
        for size, right in zip(sizes, expected):
            if session.select("attention", gpu="h200-sxm", h=8, q=size, x=size, d=64).to_dict() != right:
                wrong.append(size)
            try:
                session.select("attention", gpu="h200-sxm", h=8, q=-1, x=size, d=64)
                wrong.append("no error")
            except napkin.InputError:
                pass

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_lock_is_released():
    """Another thread runs while one question takes long."""
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    napkin.select_many("attention", [{"q": 64 * n + 1, "x": 64 * n + 1} for n in range(16, 48)], gpu="h200-sxm", h=3, d=64)
    end = time.perf_counter()
    done.set()
    thread.join()
    inside = [at for at in ticks if start < at < end]
    assert len(inside) > 5, "the other thread stood still"


def test_fork():
    question = dict(gpu="h200-sxm", h=16, q=2048, x=2048, d=128)
    before = napkin.select("attention", **question).to_dict()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            other = napkin.select("attention", gpu="h200-sxm", h=16, q=4096, x=4096, d=64)
            own = napkin.query({"algorithm": "copy", "axes": {"q": None}, "inputs": ["A[q]"], "operations": ["B[q] = map relu (A)"],
                                "outputs": ["B"]}, memory=64, q=8)
            if napkin.select("attention", **question).to_dict() == before and other.found and own.levels:
                status = 0
        finally:
            os._exit(status)
    deadline = time.time() + 60
    while time.time() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert status == 0
            return
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    raise AssertionError("the child hangs")
