"""The perceptron behind PyTriton: POST /v2/models/mlp/infer as KServe v2 has it.

    pip install nvidia-pytriton==0.7.0 'numpy<2'
    python pytriton_service.py HTTP_PORT GRPC_PORT METRICS_PORT
"""

import sys

import numpy as np
from mlp import MAX_BATCH, MAX_DELAY_MS, WIDTH, mlp
from pytriton.decorators import batch
from pytriton.model_config import DynamicBatcher, ModelConfig, Tensor
from pytriton.triton import Triton, TritonConfig


@batch
def infer(x):
    return [mlp(x)]


if __name__ == "__main__":
    http, grpc, metrics = (int(port) for port in sys.argv[1:4])
    config = TritonConfig(http_port=http, grpc_port=grpc, metrics_port=metrics)
    with Triton(config=config) as triton:
        triton.bind(
            model_name="mlp",
            infer_func=infer,
            inputs=[Tensor(name="x", dtype=np.float32, shape=(WIDTH,))],
            outputs=[Tensor(name="y", dtype=np.float32, shape=(WIDTH,))],
            config=ModelConfig(
                max_batch_size=MAX_BATCH,
                batcher=DynamicBatcher(max_queue_delay_microseconds=MAX_DELAY_MS * 1000),
            ),
        )
        triton.serve()
