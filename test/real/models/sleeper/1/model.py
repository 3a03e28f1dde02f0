import time

import triton_python_backend_utils as pb_utils

BASE_SECONDS = 0.002
SECONDS_PER_SAMPLE = 0.00005


class TritonPythonModel:
    def execute(self, requests):
        arrays = [pb_utils.get_input_tensor_by_name(request, "INPUT").as_numpy() for request in requests]
        samples = sum(len(array) for array in arrays)
        time.sleep(BASE_SECONDS + SECONDS_PER_SAMPLE * samples)
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT", array)]) for array in arrays]
