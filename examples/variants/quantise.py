"""Writes an INT8 network for ONNX Runtime: `quantise.py FP32 INT8`. The weights are quantised here, the activations at run time."""

import pathlib
import sys

from onnxruntime.quantization import QuantType, quantize_dynamic

source, target = map(pathlib.Path, sys.argv[1:])
target.parent.mkdir(parents=True, exist_ok=True)
quantize_dynamic(source, target, weight_type=QuantType.QInt8, per_channel=True)
