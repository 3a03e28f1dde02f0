import json
import os
import tempfile

import numpy
import onnx
import onnxruntime
import triton_python_backend_utils as pb_utils
from onnx import TensorProto, helper, numpy_helper

SIZES = [256, 1024, 1024, 1024, 16]


def network():
    random = numpy.random.default_rng(13)
    nodes, weights, value = [], [], "INPUT"
    for layer, (rows, columns) in enumerate(zip(SIZES, SIZES[1:])):
        matrix = (random.standard_normal((rows, columns)) / numpy.sqrt(rows)).astype(numpy.float32)
        weights.append(numpy_helper.from_array(matrix, f"w{layer}"))
        nodes.append(helper.make_node("MatMul", [value, f"w{layer}"], [f"product{layer}"]))
        value = f"hidden{layer}" if layer < len(SIZES) - 2 else "OUTPUT"
        nodes.append(helper.make_node("Relu", [f"product{layer}"], [value]))
    graph = helper.make_graph(
        nodes,
        "mlp",
        [helper.make_tensor_value_info("INPUT", TensorProto.FLOAT, ["batch", SIZES[0]])],
        [helper.make_tensor_value_info("OUTPUT", TensorProto.FLOAT, ["batch", SIZES[-1]])],
        initializer=weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def quantised(model):
    from onnxruntime.quantization import quantize_dynamic

    with tempfile.TemporaryDirectory() as directory:
        source, target = os.path.join(directory, "fp32.onnx"), os.path.join(directory, "int8.onnx")
        onnx.save(model, source)
        quantize_dynamic(source, target)
        return onnx.load(target)


class TritonPythonModel:
    def initialize(self, args):
        precision = json.loads(args["model_config"])["parameters"]["precision"]["string_value"]
        model = network() if precision == "fp32" else quantised(network())
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )

    def execute(self, requests):
        arrays = [pb_utils.get_input_tensor_by_name(request, "INPUT").as_numpy() for request in requests]
        outputs = self.session.run(["OUTPUT"], {"INPUT": numpy.concatenate(arrays)})[0]
        bounds = numpy.cumsum([len(array) for array in arrays])[:-1]
        return [
            pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT", part)]) for part in numpy.split(outputs, bounds)
        ]
