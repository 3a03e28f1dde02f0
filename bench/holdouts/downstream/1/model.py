import fcntl
import time

import triton_python_backend_utils as pb_utils

CONNECTIONS = 3
CALL_SECONDS = 0.004
SECONDS_PER_SAMPLE = 0.0003


class TritonPythonModel:
    def initialize(self, args):
        # Instances are processes: each connection is a lock on one byte of this file.
        self.file = open(__file__, "r+")
        self.connection = int(args["model_instance_name"].rsplit("_", 1)[1]) % CONNECTIONS

    def execute(self, requests):
        arrays = [pb_utils.get_input_tensor_by_name(request, "INPUT").as_numpy() for request in requests]
        fcntl.lockf(self.file, fcntl.LOCK_EX, 1, self.connection)
        time.sleep(CALL_SECONDS + SECONDS_PER_SAMPLE * sum(len(array) for array in arrays))
        fcntl.lockf(self.file, fcntl.LOCK_UN, 1, self.connection)
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT", array)]) for array in arrays]

    def finalize(self):
        self.file.close()
