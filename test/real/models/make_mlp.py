"""Writes a small multi-layer perceptron (256 → 512 → 512 → 16, ReLU, fixed random weights) as ONNX to the path given."""

import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

SIZES = [256, 512, 512, 16]
random = numpy.random.default_rng(7)
nodes, weights, value = [], [], "INPUT"
for layer, (rows, columns) in enumerate(zip(SIZES, SIZES[1:])):
    last = layer == len(SIZES) - 2
    matrix = (random.standard_normal((rows, columns)) / numpy.sqrt(rows)).astype(numpy.float32)
    weights.append(numpy_helper.from_array(matrix, f"w{layer}"))
    product = "OUTPUT" if last else f"product{layer}"
    nodes.append(helper.make_node("MatMul", [value, f"w{layer}"], [product]))
    value = product
    if not last:
        nodes.append(helper.make_node("Relu", [product], [f"hidden{layer}"]))
        value = f"hidden{layer}"

graph = helper.make_graph(
    nodes,
    "mlp",
    [helper.make_tensor_value_info("INPUT", TensorProto.FLOAT, ["batch", SIZES[0]])],
    [helper.make_tensor_value_info("OUTPUT", TensorProto.FLOAT, ["batch", SIZES[-1]])],
    initializer=weights,
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model)
onnx.save(model, sys.argv[1])
