import numpy as np
import triton_python_backend_utils as pb_utils

CROPS = 3


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        images = pb_utils.get_input_tensor_by_name(request, "INPUT").as_numpy()
        found = call("detector", images, request)
        # The crops of all samples go in one request, and the classes of a sample's crops are alike.
        classes = call("classifier", np.repeat(found, CROPS, axis=0), request)
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT", classes[::CROPS].copy())])


def call(model, values, request):
    # With the trace of the request that is worked on, the calls are its children in a trace file; else they are in none.
    asked = pb_utils.InferenceRequest(
        model_name=model,
        requested_output_names=["OUTPUT"],
        inputs=[pb_utils.Tensor("INPUT", values)],
        trace=request.trace(),
    )
    response = asked.exec()
    if response.has_error():
        raise pb_utils.TritonModelException(response.error().message())
    return pb_utils.get_output_tensor_by_name(response, "OUTPUT").as_numpy()
