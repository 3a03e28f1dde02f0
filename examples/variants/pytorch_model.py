"""Serves `model.pt` (TorchScript) or `model.pt2` (AOT Inductor) beside this file with PyTorch, one thread for each instance."""

import pathlib

import numpy
import torch
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        torch.set_num_threads(1)
        folder = pathlib.Path(args["model_repository"], args["model_version"])
        package = folder / "model.pt2"
        if package.exists():
            self.network = torch._inductor.aoti_load_package(str(package))
        else:
            self.network = torch.jit.load(str(folder / "model.pt"))

    def execute(self, requests):
        arrays = [pb_utils.get_input_tensor_by_name(request, "INPUT").as_numpy() for request in requests]
        with torch.inference_mode():
            outputs = self.network(torch.from_numpy(numpy.concatenate(arrays))).numpy()
        bounds = numpy.cumsum([len(array) for array in arrays])[:-1]
        return [
            pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT", part)]) for part in numpy.split(outputs, bounds)
        ]
