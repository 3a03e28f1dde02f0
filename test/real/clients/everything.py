"""Calls everything that NVIDIA's Python clients can call, over gRPC and HTTP, and prints what came back as one JSON object.

usage: everything.py GRPC_URL HTTP_URL
"""
import json
import queue
import sys
from base64 import b64encode

import numpy as np
import tritonclient.grpc as grpc
import tritonclient.http as http
import tritonclient.utils.shared_memory as shm
from tritonclient.utils import InferenceServerException

DEADLINE_S = 10


def of(call):
    """What a call gives, or the words with which it is refused."""
    try:
        return call()
    except InferenceServerException as error:
        return "refused: " + error.message()


def tensor(module, batch, name="IN"):
    data = np.ones((batch, 4) if batch else (4,), dtype=np.float32)
    tensor = module.InferInput(name, list(data.shape), "FP32")
    tensor.set_data_from_numpy(data)
    return tensor


def shape_of(result):
    return list(result.as_numpy("OUT").shape)


def both(module, client):
    """What the two clients spell alike."""
    seen = {}
    json_of = {"as_json": True} if module is grpc else {}
    seen["live"] = client.is_server_live()
    seen["ready"] = client.is_server_ready() and client.is_model_ready("m")
    seen["server"] = client.get_server_metadata(**json_of)["name"]
    seen["metadata"] = client.get_model_metadata("m", **json_of)["inputs"][0]["name"]
    config = client.get_model_config("m", **json_of)
    config = config.get("config", config)
    seen["max_batch_size"] = config["max_batch_size"]
    index = client.get_model_repository_index(**json_of)
    seen["index"] = sorted({entry["name"] for entry in (index["models"] if isinstance(index, dict) else index)})
    seen["infer"] = [shape_of(client.infer("m", [tensor(module, batch)])) for batch in (1, 8)]
    seen["ensemble"] = shape_of(client.infer("chain", [tensor(module, 2)]))
    seen["too large"] = of(lambda: client.infer("m", [tensor(module, 9)]))
    seen["unknown"] = of(lambda: client.infer("nothing", [tensor(module, 1)]))
    sequence = lambda **flags: shape_of(client.infer("seq", [tensor(module, 1)], sequence_id=7, **flags))
    seen["no start"] = of(lambda: sequence())
    seen["sequence"] = [sequence(sequence_start=True), sequence(), sequence(sequence_end=True)]
    seen["after end"] = of(lambda: sequence())
    config["dynamic_batching"] = {}
    config["max_batch_size"] = 4
    client.load_model("m", config=json.dumps(config))
    seen["loaded"] = of(lambda: client.infer("m", [tensor(module, 5)]))
    config["max_batch_size"] = -1
    seen["invalid"] = of(lambda: client.load_model("m", config=json.dumps(config)))
    config["max_batch_size"] = 8
    client.load_model("m", config=json.dumps(config), files={"file:3/model.py": b"# anything"})
    seen["versions"] = client.get_model_metadata("m", **json_of)["versions"]
    client.load_model("m")
    seen["versions again"] = client.get_model_metadata("m", **json_of)["versions"]
    client.unload_model("second")
    seen["unloaded"] = [client.is_model_ready(name) for name in ("second", "chain")]
    client.load_model("second")
    seen["loaded again"] = [client.is_model_ready(name) for name in ("second", "chain")]
    statistics = client.get_inference_statistics("chain", **json_of)["model_stats"][0]
    seen["statistics"] = statistics["name"]
    seen["shared memory"] = shared(module, client, json_of)
    trace = client.update_trace_settings(settings={"trace_rate": "5"}, **json_of)
    trace = trace.get("settings", trace)["trace_rate"]
    seen["trace"] = trace["value"][0] if isinstance(trace, dict) else trace
    client.update_trace_settings(settings={"trace_rate": None})
    seen["trace on"] = of(lambda: client.update_trace_settings(settings={"trace_level": ["TIMESTAMPS"]}))
    log = client.update_log_settings({"log_verbose_level": 2}, **json_of)
    log = log.get("settings", log)["log_verbose_level"]
    seen["log"] = log["uint32_param"] if isinstance(log, dict) else log
    client.update_log_settings({"log_verbose_level": 0})
    return seen


def shared(module, client, json_of):
    key, size = "/tritune-client-%s" % module.__name__.split(".")[-1], 16
    region = shm.create_shared_memory_region("in", key, 2 * size)
    try:
        shm.set_shared_memory_region(region, [np.arange(4, dtype=np.float32), np.full(4, 7, dtype=np.float32)])
        client.register_system_shared_memory("region", key, 2 * size)
        given = module.InferInput("IN", [1, 4], "FP32")
        given.set_shared_memory("region", size)
        wanted = module.InferRequestedOutput("OUT")
        wanted.set_shared_memory("region", size, size)
        client.infer("m", [given], outputs=[wanted])
        status = client.get_system_shared_memory_status(**json_of)
        regions = status["regions"] if isinstance(status, dict) else status
        client.unregister_system_shared_memory("region")
        return [len(regions), shm.get_contents_as_numpy(region, np.float32, [8]).tolist()[4:]]
    finally:
        shm.destroy_shared_memory_region(region)


def streams(client):
    """What comes back on a stream, in order: final or not, with outputs or not, or the error."""
    answers = queue.Queue()

    def take(result, error):
        if error is not None:
            answers.put(["error", error.message()])
            return
        response = result.get_response()
        answers.put([response.id, response.parameters["triton_final_response"].bool_param, len(response.outputs)])

    def wait(count):
        return [answers.get(timeout=DEADLINE_S) for _ in range(count)]

    seen = {}
    client.start_stream(callback=take)
    client.async_stream_infer("stream", [tensor(grpc, 0)], request_id="a")
    seen["decoupled"] = wait(3)
    client.async_stream_infer("stream", [tensor(grpc, 0)], request_id="b", enable_empty_final_response=True)
    seen["empty final"] = wait(4)
    client.async_stream_infer("m", [tensor(grpc, 2)], request_id="c")
    seen["plain"] = wait(1)
    client.async_stream_infer("nothing", [tensor(grpc, 2)], request_id="d")
    seen["error"] = wait(1)
    for number in range(3):
        client.async_stream_infer(
            "seq", [tensor(grpc, 1)], request_id=str(number), sequence_id="text", sequence_start=number == 0, sequence_end=number == 2
        )
    seen["sequence"] = wait(3)
    client.stop_stream()
    seen["unary"] = of(lambda: client.infer("stream", [tensor(grpc, 0)]))
    return seen


grpc_url, http_url = sys.argv[1:]
with grpc.InferenceServerClient(grpc_url) as client:
    result = {"grpc": both(grpc, client), "streams": streams(client)}
    result["compressed"] = [shape_of(client.infer("m", [tensor(grpc, 3)], compression_algorithm=way)) for way in ("gzip", "deflate")]
with http.InferenceServerClient(http_url) as client:
    result["http"] = both(http, client)
    result["http compressed"] = [
        shape_of(client.infer("m", [tensor(http, 3)], request_compression_algorithm=way)) for way in ("gzip", "deflate")
    ]
    result["http unary"] = of(lambda: client.infer("stream", [tensor(http, 0)]))
print(json.dumps(result))
