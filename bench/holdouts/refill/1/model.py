import time

import triton_python_backend_utils as pb_utils

SECONDS = 0.003
SECONDS_PER_SAMPLE = 0.00015
REFILL_EVERY = 40
REFILL_TIMES = 5


class TritonPythonModel:
    def initialize(self, args):
        self.executions = 0

    def execute(self, requests):
        arrays = [pb_utils.get_input_tensor_by_name(request, "INPUT").as_numpy() for request in requests]
        self.executions += 1
        times = REFILL_TIMES if self.executions % REFILL_EVERY == 0 else 1
        time.sleep(times * (SECONDS + SECONDS_PER_SAMPLE * sum(len(array) for array in arrays)))
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT", array)]) for array in arrays]
