import numpy
import triton_python_backend_utils as pb_utils

BUCKETS = [1, 8, 32, 128]
# Additions that wait for one another, so that they take about as long on any machine: of an execution whatever its batch, and
# of each sample of its bucket.
ADDITIONS = 250_000
ADDITIONS_PER_SAMPLE = 25_000


class TritonPythonModel:
    def initialize(self, args):
        self.values = numpy.linspace(0, 1, ADDITIONS, dtype=numpy.float32)
        self.sums = numpy.empty_like(self.values)

    def add(self, additions):
        while additions > 0:
            part = slice(0, min(additions, ADDITIONS))
            numpy.cumsum(self.values[part], out=self.sums[part])
            additions -= ADDITIONS

    def execute(self, requests):
        arrays = [pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy() for request in requests]
        samples = sum(len(array) for array in arrays)
        bucket = next((size for size in BUCKETS if size >= samples), samples)
        self.add(ADDITIONS + ADDITIONS_PER_SAMPLE * bucket)
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", array)]) for array in arrays]
