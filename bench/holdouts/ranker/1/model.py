import numpy
import triton_python_backend_utils as pb_utils

MOST_INSTANCES = 3
# Additions that wait for one another: of an execution, and of each pair of samples.
ADDITIONS = 500_000
ADDITIONS_PER_PAIR = 4_000


class TritonPythonModel:
    def initialize(self, args):
        if int(args["model_instance_name"].rsplit("_", 1)[1]) >= MOST_INSTANCES:
            raise MemoryError("out of memory: failed to allocate the weights of another instance")
        self.values = numpy.linspace(0, 1, 1_000_000, dtype=numpy.float32)
        self.sums = numpy.empty_like(self.values)

    def execute(self, requests):
        arrays = [pb_utils.get_input_tensor_by_name(request, "INPUT").as_numpy() for request in requests]
        samples = sum(len(array) for array in arrays)
        additions = ADDITIONS + ADDITIONS_PER_PAIR * samples * samples
        while additions > 0:
            part = slice(0, min(additions, len(self.values)))
            numpy.cumsum(self.values[part], out=self.sums[part])
            additions -= len(self.values)
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT", array[:, :1].copy())]) for array in arrays]
