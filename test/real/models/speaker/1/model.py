"""A decoupled model that answers a text with so many words, one every two milliseconds, and says that each is a token."""

import threading
import time

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            tokens = pb_utils.get_input_tensor_by_name(request, "max_tokens")
            count = 8 if tokens is None else int(tokens.as_numpy()[0])
            threading.Thread(target=self.answer, args=(request.get_response_sender(), count)).start()

    def answer(self, sender, count):
        for number in range(count):
            time.sleep(0.002)
            outputs = [
                pb_utils.Tensor("text_output", np.array([f" \u00e9{number}".encode()], dtype=object)),
                pb_utils.Tensor("num_output_tokens", np.array([1], dtype=np.uint32)),
            ]
            sender.send(pb_utils.InferenceResponse(outputs))
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
