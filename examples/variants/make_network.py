"""Writes the network of the example into the folder given: as a model repository with ONNX Runtime FP32 behind Triton's Python backend
(`models/mlp`), as `fp32.onnx`, and as `data.json` with inputs and the outputs to expect of them."""

import json
import pathlib
import shutil
import sys

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

SIZES = [256, 1536, 1536, 16]
SAMPLES = 8
HERE = pathlib.Path(__file__).parent
CONFIG = f"""backend: "python"
max_batch_size: 32
input [ {{ name: "INPUT" data_type: TYPE_FP32 dims: [ {SIZES[0]} ] }} ]
output [ {{ name: "OUTPUT" data_type: TYPE_FP32 dims: [ {SIZES[-1]} ] }} ]
instance_group [ {{ count: 1 kind: KIND_CPU }} ]
"""

folder = pathlib.Path(sys.argv[1])
version = folder / "models" / "mlp" / "1"
version.mkdir(parents=True, exist_ok=True)

random = numpy.random.default_rng(7)
nodes, weights, value = [], [], "INPUT"
for layer, (rows, columns) in enumerate(zip(SIZES, SIZES[1:])):
    is_last = layer == len(SIZES) - 2
    matrix = (random.standard_normal((rows, columns)) / numpy.sqrt(rows)).astype(numpy.float32)
    weights.append(numpy_helper.from_array(matrix, f"w{layer}"))
    product = "OUTPUT" if is_last else f"product{layer}"
    nodes.append(helper.make_node("MatMul", [value, f"w{layer}"], [product]))
    value = product
    if not is_last:
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
onnx.save(model, folder / "fp32.onnx")

shutil.copy(folder / "fp32.onnx", version / "model.onnx")
shutil.copy(HERE / "onnxruntime_model.py", version / "model.py")
(version.parent / "config.pbtxt").write_text(CONFIG)

inputs = random.random((SAMPLES, SIZES[0]), dtype=numpy.float32)
session = onnxruntime.InferenceSession(folder / "fp32.onnx", providers=["CPUExecutionProvider"])
outputs = session.run(["OUTPUT"], {"INPUT": inputs})[0]
data = {
    "data": [{"INPUT": sample.tolist()} for sample in inputs],
    "validation_data": [{"OUTPUT": sample.tolist()} for sample in outputs],
}
(folder / "data.json").write_text(json.dumps(data))
