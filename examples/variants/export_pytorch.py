"""Writes the network of `fp32.onnx` with PyTorch: `export_pytorch.py KIND FP32 TARGET`. KIND is `torchscript` (model.pt), `aoti` (an
AOT Inductor package, model.pt2), or `aoti-bf16`, the same in BF16. AOT Inductor needs a C++ compiler, and builds for this machine."""

import pathlib
import sys

import numpy
import onnx
import torch
from onnx import numpy_helper


class Network(torch.nn.Module):
    def __init__(self, matrices, dtype):
        super().__init__()
        self.weights = torch.nn.ParameterList(torch.from_numpy(numpy.array(each)).to(dtype) for each in matrices)
        self.dtype = dtype

    def forward(self, samples: torch.Tensor) -> torch.Tensor:
        value = samples.to(self.dtype)
        for layer, weight in enumerate(self.weights):
            value = value @ weight
            if layer < len(self.weights) - 1:
                value = torch.relu(value)
        return value.float()


kind, source, target = sys.argv[1:]
pathlib.Path(target).parent.mkdir(parents=True, exist_ok=True)
matrices = [numpy_helper.to_array(each) for each in onnx.load(source).graph.initializer]
network = Network(matrices, torch.bfloat16 if kind.endswith("bf16") else torch.float32).eval()
example = torch.zeros(2, matrices[0].shape[0])

with torch.no_grad():
    if kind == "torchscript":
        torch.jit.trace(network, example).save(target)
    else:
        batch = torch.export.Dim("batch", max=1024)
        exported = torch.export.export(network, (example,), dynamic_shapes=({0: batch},))
        torch._inductor.aoti_compile_and_package(exported, package_path=target)
