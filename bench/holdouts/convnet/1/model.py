import json

import numpy
import onnxruntime
import triton_python_backend_utils as pb_utils
from onnx import TensorProto, helper, numpy_helper


def network():
    random = numpy.random.default_rng(11)

    def weights(name, *shape):
        return numpy_helper.from_array(0.1 * random.standard_normal(shape).astype(numpy.float32), name)

    nodes = [
        helper.make_node("Conv", ["INPUT", "w1"], ["c1"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("MaxPool", ["r1"], ["p1"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["p1", "w2"], ["c2"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c2"], ["r2"]),
        helper.make_node("GlobalAveragePool", ["r2"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
        helper.make_node("MatMul", ["f", "w3"], ["OUTPUT"]),
    ]
    graph = helper.make_graph(
        nodes,
        "convnet",
        [helper.make_tensor_value_info("INPUT", TensorProto.FLOAT, ["batch", 3, 24, 24])],
        [helper.make_tensor_value_info("OUTPUT", TensorProto.FLOAT, ["batch", 10])],
        initializer=[weights("w1", 16, 3, 3, 3), weights("w2", 32, 16, 3, 3), weights("w3", 32, 10)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class TritonPythonModel:
    def initialize(self, args):
        parameters = json.loads(args["model_config"])["parameters"]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(parameters["threads"]["string_value"])
        self.session = onnxruntime.InferenceSession(
            network().SerializeToString(), options, providers=["CPUExecutionProvider"]
        )

    def execute(self, requests):
        arrays = [pb_utils.get_input_tensor_by_name(request, "INPUT").as_numpy() for request in requests]
        outputs = self.session.run(["OUTPUT"], {"INPUT": numpy.concatenate(arrays)})[0]
        bounds = numpy.cumsum([len(array) for array in arrays])[:-1]
        return [
            pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT", part)]) for part in numpy.split(outputs, bounds)
        ]
