"""The perceptron behind mosec: POST /inference with {"x": [64 numbers]} answers {"y": [64 numbers]}.

    pip install mosec numpy
    python mosec_service.py --port 8000
"""

import numpy as np
from mlp import MAX_BATCH, MAX_DELAY_MS, mlp
from mosec import Server, Worker


class Mlp(Worker):
    def forward(self, data):
        y = mlp(np.array([each["x"] for each in data], dtype=np.float32))
        return [{"y": row} for row in y.tolist()]


if __name__ == "__main__":
    server = Server()
    server.append_worker(Mlp, num=1, max_batch_size=MAX_BATCH, max_wait_time=MAX_DELAY_MS)
    server.run()
