"""The model that both services serve: a small perceptron in NumPy, 64 floats in, 64 out, the same weights every time."""

import numpy as np

WIDTH = 64
HIDDEN = 256
MAX_BATCH = 32
MAX_DELAY_MS = 1

_random = np.random.default_rng(1)
_first = _random.standard_normal((WIDTH, HIDDEN), dtype=np.float32) / 8
_second = _random.standard_normal((HIDDEN, WIDTH), dtype=np.float32) / 16


def mlp(x: np.ndarray) -> np.ndarray:
    """[batch, 64] float32 -> [batch, 64] float32"""
    return np.maximum(x @ _first, 0) @ _second
