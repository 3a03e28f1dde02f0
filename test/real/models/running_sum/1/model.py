import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        self.sums = {}

    def execute(self, requests):
        return [self.step(request) for request in requests]

    def step(self, request):
        start, end, sequence, value = (
            pb_utils.get_input_tensor_by_name(request, name).as_numpy().item()
            for name in ("START", "END", "CORRID", "INPUT")
        )
        if start == 1 and sequence in self.sums:
            return failure("sequence %d began twice" % sequence)
        if start == 0 and sequence not in self.sums:
            return failure("sequence %d did not begin" % sequence)
        total = self.sums.get(sequence, 0) + value
        self.sums[sequence] = total
        if end == 1:
            del self.sums[sequence]
        outputs = (("SUM", total), ("LIVE", len(self.sums)))
        return pb_utils.InferenceResponse(
            [pb_utils.Tensor(name, np.array([[number]], dtype=np.int32)) for name, number in outputs]
        )


def failure(message):
    return pb_utils.InferenceResponse(output_tensors=[], error=pb_utils.TritonError(message))
