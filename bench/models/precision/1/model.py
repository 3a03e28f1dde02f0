import json
import time

import triton_python_backend_utils as pb_utils

BUILD_SECONDS = 3
# Of an execution, and of each of its samples.
SECONDS = {"fp32": (0.005, 0.0006), "fp16": (0.0032, 0.00025)}


class TritonPythonModel:
    def initialize(self, args):
        precision = json.loads(args["model_config"])["parameters"]["precision"]["string_value"]
        self.seconds = SECONDS[precision]
        if precision == "fp16":
            time.sleep(BUILD_SECONDS)

    def execute(self, requests):
        arrays = [pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy() for request in requests]
        fixed, per_sample = self.seconds
        time.sleep(fixed + per_sample * sum(len(array) for array in arrays))
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", array)]) for array in arrays]
