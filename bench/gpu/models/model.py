"""A network behind Triton's Python backend. What it does is said by the parameters of its config: `network` and `engine`,
and the knobs that are tuned, `precision`, `graphs` and `compile`."""

import json

import numpy
import triton_python_backend_utils as pb_utils

KNOBS = {
    "precision": ("fp32", "tf32", "bf16", "fp16"),
    "graphs": ("none", "cuda"),
    "compile": ("none", "inductor"),
}


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        parameters = {name: field["string_value"] for name, field in config["parameters"].items()}
        for name, known in KNOBS.items():
            if parameters[name] not in known:
                raise ValueError(f"{name} is '{parameters[name]}', and not one of {', '.join(known)}")
        if parameters["engine"] == "torch":
            from torch_engine import TorchEngine as Engine
        else:
            from tiny_engine import TinyEngine as Engine
        self._engine = Engine(
            parameters,
            gpu=int(args["model_instance_device_id"]) if args["model_instance_kind"] == "GPU" else None,
            largest=max(1, config["max_batch_size"]),
            sample=[int(size) for size in config["input"][0]["dims"]],
            outputs=int(config["output"][0]["dims"][0]),
        )

    def execute(self, requests):
        arrays = [pb_utils.get_input_tensor_by_name(request, "INPUT").as_numpy() for request in requests]
        outputs = self._engine.run(arrays)
        ends = numpy.cumsum([len(array) for array in arrays])[:-1]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT", part)]) for part in numpy.split(outputs, ends)]
