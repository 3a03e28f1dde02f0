import time

import numpy as np
import triton_python_backend_utils as pb_utils

STEPS = 3


class TritonPythonModel:
    """Answers after three executions, as a model does that generates step by step."""

    def initialize(self, args):
        self.steps = {}

    def execute(self, requests):
        time.sleep(0.002)
        responses = []
        for request in requests:
            key = request.correlation_id()
            steps = self.steps.pop(key, 0) + 1
            if steps < STEPS:
                self.steps[key] = steps
                request.set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
                responses.append(None)
            else:
                output = pb_utils.Tensor("OUTPUT", np.array([[steps]], dtype=np.int32))
                responses.append(pb_utils.InferenceResponse([output]))
        return responses
