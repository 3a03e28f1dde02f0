import numpy
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        arrays = [pb_utils.get_input_tensor_by_name(request, "INPUT").as_numpy() for request in requests]
        means = numpy.concatenate(arrays).mean(axis=2)
        bounds = numpy.cumsum([len(array) for array in arrays])[:-1]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT", part)]) for part in numpy.split(means, bounds)]
