import fcntl
import time

import triton_python_backend_utils as pb_utils

BEFORE_SECONDS = 0.0015
DEVICE_SECONDS = 0.002
DEVICE_SECONDS_PER_SAMPLE = 0.0001


class TritonPythonModel:
    def initialize(self, args):
        # Instances are processes: what they share is a lock on this file.
        self.device = open(__file__)

    def execute(self, requests):
        arrays = [pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy() for request in requests]
        samples = sum(len(array) for array in arrays)
        time.sleep(BEFORE_SECONDS)
        fcntl.flock(self.device, fcntl.LOCK_EX)
        time.sleep(DEVICE_SECONDS + DEVICE_SECONDS_PER_SAMPLE * samples)
        fcntl.flock(self.device, fcntl.LOCK_UN)
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", array)]) for array in arrays]

    def finalize(self):
        self.device.close()
