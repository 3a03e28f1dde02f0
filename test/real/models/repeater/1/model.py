import time

import numpy as np
import triton_python_backend_utils as pb_utils

# What generated values ask for is not what anybody can wait for.
MOST = 100


def number(request, name):
    return int(pb_utils.get_input_tensor_by_name(request, name).as_numpy()[0])


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            times = number(request, "TIMES")
            sender = request.get_response_sender()
            for index in range(min(abs(times), MOST)):
                time.sleep(min(number(request, "DELAY_MS"), MOST) / 1000 if number(request, "DELAY_MS") > 0 else 0)
                answer = pb_utils.Tensor("INDEX", np.array([index], dtype=np.int32))
                sender.send(pb_utils.InferenceResponse([answer]))
            if times < 0:
                sender.send(pb_utils.InferenceResponse(error=pb_utils.TritonError("asked to fail")))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        return None
