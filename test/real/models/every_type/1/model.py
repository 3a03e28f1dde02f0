import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([back(tensor) for tensor in request.inputs()]) for request in requests]


def back(tensor):
    name = tensor.name() + "_BACK"
    # numpy knows no bfloat16.
    if tensor.name() == "BF16":
        return pb_utils.Tensor.from_dlpack(name, tensor.to_dlpack())
    return pb_utils.Tensor(name, tensor.as_numpy())
