"""The networks on PyTorch, on a GPU where there is one, with the knobs that a server of such models has."""

import torch
from networks import build

TYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
WARM_UPS = 3


class TorchEngine:
    """Every size of batch that an execution can have is run before the model counts as loaded: what does not fit the memory fails
    then, and nothing is compiled or captured under traffic."""

    def __init__(self, parameters, gpu, largest, sample, outputs):
        self._is_image = parameters["network"] == "image"
        self._type = TYPES[parameters["precision"]]
        self._device = torch.device("cpu")
        if torch.cuda.is_available():
            self._device = torch.device("cuda", gpu or 0)
            torch.cuda.set_device(self._device)
        elif gpu is not None or parameters["graphs"] == "cuda":
            raise ValueError("PyTorch sees no GPU here")
        # TF32 is its default for convolutions, and not for products of matrices.
        torch.set_float32_matmul_precision("high" if parameters["precision"] == "tf32" else "highest")
        torch.backends.cudnn.allow_tf32 = parameters["precision"] == "tf32"
        torch.set_num_threads(1)

        network = build(parameters["network"], outputs).to(self._device, self._type)
        self._layout = torch.channels_last if self._is_image else torch.contiguous_format
        network = network.to(memory_format=self._layout) if self._is_image else network
        self._network = torch.compile(network, dynamic=True) if parameters["compile"] == "inductor" else network

        on_gpu = self._device.type == "cuda"
        kind = torch.float32 if self._is_image else torch.int64
        self._staged = torch.zeros((largest, *sample), dtype=kind, pin_memory=on_gpu)
        self._inputs = torch.zeros((largest, *sample), dtype=kind, device=self._device)
        self._results = torch.zeros((largest, outputs), dtype=torch.float32, pin_memory=on_gpu)
        # Graphs are of one size each, and compiled code is quickest at the sizes that it has seen.
        fixed = parameters["graphs"] == "cuda" or parameters["compile"] == "inductor"
        self._sizes = powers_up_to(largest) if fixed else []
        self._graphs = {}
        with torch.no_grad():
            for size in reversed(self._sizes or [1, largest]):
                self._warm_up(size)
                if parameters["graphs"] == "cuda":
                    self._graphs[size] = self._captured(size)

    def run(self, arrays):
        count = 0
        staged = self._staged.numpy()
        for array in arrays:
            staged[count : count + len(array)] = array
            count += len(array)
        size = next((size for size in self._sizes if size >= count), count)
        with torch.no_grad():
            self._inputs[:count].copy_(self._staged[:count], non_blocking=True)
            if size in self._graphs:
                graph, outputs = self._graphs[size]
                graph.replay()
            else:
                outputs = self._forward(size)
            self._results[:count].copy_(outputs[:count], non_blocking=True)
        if self._device.type == "cuda":
            torch.cuda.current_stream().synchronize()
        # The next execution writes over the results.
        return self._results[:count].numpy().copy()

    def _forward(self, size):
        inputs = self._inputs[:size]
        if self._is_image:
            inputs = inputs.to(dtype=self._type, memory_format=self._layout)
        return self._network(inputs).float()

    def _warm_up(self, size):
        if self._device.type != "cuda":
            self._forward(size)
            return
        # A graph can only be captured of what ran on another stream than the default one before.
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(WARM_UPS):
                self._forward(size)
        torch.cuda.current_stream().wait_stream(aside)
        torch.cuda.synchronize()

    def _captured(self, size):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            outputs = self._forward(size)
        return graph, outputs


def powers_up_to(largest):
    """1, 2, 4 … and the largest itself."""
    sizes = [1 << bit for bit in range(largest.bit_length()) if 1 << bit < largest]
    return [*sizes, largest]
