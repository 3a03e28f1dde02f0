"""Serves `model.onnx` beside this file with ONNX Runtime, one thread for each instance."""

import os

import numpy
import onnxruntime
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        path = os.path.join(args["model_repository"], args["model_version"], "model.onnx")
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def execute(self, requests):
        arrays = [pb_utils.get_input_tensor_by_name(request, "INPUT").as_numpy() for request in requests]
        outputs = self.session.run(["OUTPUT"], {"INPUT": numpy.concatenate(arrays)})[0]
        bounds = numpy.cumsum([len(array) for array in arrays])[:-1]
        return [
            pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT", part)]) for part in numpy.split(outputs, bounds)
        ]
