"""Serves `model.onnx` beside this file with OpenVINO on the CPU, one thread for each instance. The parameter `openvino` is a folder with the
package, where the server's Python has none."""

import json
import os
import sys

import numpy
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        parameters = json.loads(args["model_config"]).get("parameters", {})
        if "openvino" in parameters:
            sys.path.insert(0, parameters["openvino"]["string_value"])
        import openvino

        core = openvino.Core()
        model = core.read_model(os.path.join(args["model_repository"], args["model_version"], "model.onnx"))
        hints = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
        self.network = core.compile_model(model, "CPU", hints)

    def execute(self, requests):
        arrays = [pb_utils.get_input_tensor_by_name(request, "INPUT").as_numpy() for request in requests]
        outputs = self.network({"INPUT": numpy.concatenate(arrays)})["OUTPUT"]
        bounds = numpy.cumsum([len(array) for array in arrays])[:-1]
        return [
            pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT", part)]) for part in numpy.split(outputs, bounds)
        ]
