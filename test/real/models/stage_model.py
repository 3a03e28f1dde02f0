import fcntl
import json
import os
import time

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Gives INPUT * TIMES + ADD after FIXED_MS and PER_SAMPLE_MS for each sample, which it holds DEVICE for if it has one."""

    def initialize(self, args):
        parameters = json.loads(args["model_config"]).get("parameters", {})
        text = {name: value["string_value"] for name, value in parameters.items()}
        self.fixed, self.per_sample, self.add = (float(text.get(k, 0)) for k in ("FIXED_MS", "PER_SAMPLE_MS", "ADD"))
        self.times = float(text.get("TIMES", 1))
        # A lock on a file stands for a device that executes one thing at a time, whichever model it is of.
        folder = os.path.dirname(os.path.abspath(args["model_repository"]))
        self.device = open(os.path.join(folder, text["DEVICE"] + ".lock"), "w") if "DEVICE" in text else None

    def execute(self, requests):
        arrays = [pb_utils.get_input_tensor_by_name(request, "INPUT").as_numpy() for request in requests]
        samples = sum(len(array) for array in arrays)
        if self.device:
            fcntl.flock(self.device, fcntl.LOCK_EX)
        time.sleep((self.fixed + self.per_sample * samples) / 1000)
        if self.device:
            fcntl.flock(self.device, fcntl.LOCK_UN)
        outputs = [(array * self.times + self.add).astype(np.float32) for array in arrays]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT", output)]) for output in outputs]

    def finalize(self):
        if self.device:
            self.device.close()
