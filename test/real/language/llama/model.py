"""A Python-based backend of Triton that serves a language model by llama.cpp's library, as Triton's vLLM backend serves one by vLLM.

Its settings are in `1/model.json` of the model, by the names that vLLM has for the same: model (a GGUF file), library (the folder with
llama.cpp's library), declarations (that with its functions for Python), max_num_seqs, max_num_batched_tokens, max_model_len, enable_chunked_prefill, kv_cache_dtype, threads. Inputs, outputs and
parameters are those of the vLLM backend too. All sequences that are there are computed together, one step after another.
"""

import ctypes
import importlib.util
import json
import os
import queue
import sys
import threading

import numpy as np
import triton_python_backend_utils as pb_utils

KV_TYPES = {"auto": "GGML_TYPE_F16", "f16": "GGML_TYPE_F16", "q8_0": "GGML_TYPE_Q8_0", "q4_0": "GGML_TYPE_Q4_0"}
DEFAULTS = {
    "max_num_seqs": 1,
    "max_num_batched_tokens": 512,
    "max_model_len": 512,
    "enable_chunked_prefill": True,
    "kv_cache_dtype": "auto",
    "threads": 1,
}


class Sequence:
    """One request from its prompt to its last token."""

    def __init__(self, sender, tokens, max_tokens, ignore_eos):
        self.sender = sender
        self.tokens = tokens
        self.max_tokens = max_tokens
        self.ignore_eos = ignore_eos
        self.done = 0  # tokens of the prompt that are computed
        self.output = 0
        self.slot = None
        self.last = None  # the token that was generated last

    @property
    def is_prefill(self):
        return self.done < len(self.tokens)


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        for name, kind, optional in [
            ("text_input", "TYPE_STRING", False),
            ("stream", "TYPE_BOOL", True),
            ("sampling_parameters", "TYPE_STRING", True),
            ("exclude_input_in_output", "TYPE_BOOL", True),
            ("return_num_input_tokens", "TYPE_BOOL", True),
            ("return_num_output_tokens", "TYPE_BOOL", True),
        ]:
            config.add_input({"name": name, "data_type": kind, "dims": [1], "optional": optional})
        for name, kind in [
            ("text_output", "TYPE_STRING"),
            ("num_input_tokens", "TYPE_UINT32"),
            ("num_output_tokens", "TYPE_UINT32"),
        ]:
            config.add_output({"name": name, "data_type": kind, "dims": [-1]})
        config.set_model_transaction_policy({"decoupled": True})
        config.set_max_batch_size(0)
        return config

    def initialize(self, args):
        folder = os.path.join(pb_utils.get_model_dir(), "model.json")
        with open(folder) as file:
            given = json.load(file)
        unknown = set(given) - set(DEFAULTS) - {"model", "library", "declarations"}
        if unknown:
            raise pb_utils.TritonModelException(f"unexpected keyword argument '{sorted(unknown)[0]}'")
        self.settings = {**DEFAULTS, **given}
        if self.settings["max_num_batched_tokens"] < self.settings["max_num_seqs"]:
            raise pb_utils.TritonModelException(
                "max_num_batched_tokens must be greater than or equal to max_num_seqs"
            )
        pb_utils.Logger.log_warn(f"serves {self.settings['max_num_seqs']} sequences at once")
        self.open_model()
        self.waiting = queue.SimpleQueue()
        self.running = []
        self.free = list(range(self.settings["max_num_seqs"]))
        self.is_over = False
        self.thread = threading.Thread(target=self.loop, daemon=True)
        self.thread.start()

    def open_model(self):
        folder = self.settings["library"]
        sys.path.insert(0, self.settings["declarations"])
        path = os.path.join(self.settings["declarations"], "llama_cpp_py_sync", "_cffi_bindings.py")
        spec = importlib.util.spec_from_file_location("llama_bindings", path)
        bindings = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(bindings)
        # The library finds the code for this CPU in its own folder.
        ggml = ctypes.CDLL(next(self.libraries(folder, "libggml.")), mode=ctypes.RTLD_GLOBAL)
        ggml.ggml_backend_load_all_from_path.argtypes = [ctypes.c_char_p]
        ggml.ggml_backend_load_all_from_path(folder.encode())
        self.ffi = bindings.ffi
        lib = self.lib = self.ffi.dlopen(next(self.libraries(folder, "libllama.")))
        lib.llama_backend_init()
        model_params = lib.llama_model_default_params()
        model_params.n_gpu_layers = 0
        self.model = lib.llama_model_load_from_file(self.settings["model"].encode(), model_params)
        if self.model == self.ffi.NULL:
            raise pb_utils.TritonModelException(f"cannot load {self.settings['model']}")
        params = lib.llama_context_default_params()
        params.n_ctx = self.settings["max_num_seqs"] * self.settings["max_model_len"]
        params.n_seq_max = self.settings["max_num_seqs"]
        params.n_batch = params.n_ubatch = self.settings["max_num_batched_tokens"]
        params.n_threads = params.n_threads_batch = self.settings["threads"]
        kind = getattr(lib, KV_TYPES[self.settings["kv_cache_dtype"]])
        params.type_k = params.type_v = kind
        params.kv_unified = False
        self.context = lib.llama_init_from_model(self.model, params)
        if self.context == self.ffi.NULL:
            raise pb_utils.TritonModelException("out of memory: the KV cache does not fit")
        self.memory = lib.llama_get_memory(self.context)
        self.vocab = lib.llama_model_get_vocab(self.model)
        self.vocab_size = lib.llama_vocab_n_tokens(self.vocab)
        self.batch = lib.llama_batch_init(self.settings["max_num_batched_tokens"], 0, 1)
        self.ends = [token for token in range(self.vocab_size) if lib.llama_vocab_is_eog(self.vocab, token)]

    @staticmethod
    def libraries(folder, start):
        return (os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.startswith(start))

    def tokenize(self, text):
        data = text.encode()
        room = len(data) + 8
        tokens = self.ffi.new("llama_token[]", room)
        count = self.lib.llama_tokenize(self.vocab, data, len(data), tokens, room, True, True)
        return list(tokens[0:count])

    def piece(self, token):
        buffer = self.ffi.new("char[]", 128)
        length = self.lib.llama_token_to_piece(self.vocab, token, buffer, 128, 0, False)
        return bytes(self.ffi.buffer(buffer, max(0, length)))

    def execute(self, requests):
        for request in requests:
            try:
                self.waiting.put(self.sequence_of(request))
            except Exception as error:  # the request's fault: the others are served
                sender = request.get_response_sender()
                sender.send(
                    pb_utils.InferenceResponse(error=pb_utils.TritonError(str(error))),
                    flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL,
                )
        return None

    def sequence_of(self, request):
        text = self.value_of(request, "text_input").decode()
        parameters = json.loads(request.parameters() or "{}")
        sampling = self.value_of(request, "sampling_parameters")
        if sampling is not None:
            parameters.update(json.loads(sampling))
        tokens = self.tokenize(text)
        most = int(parameters.get("max_tokens", 16))
        if len(tokens) + most > self.settings["max_model_len"]:
            raise ValueError(f"{len(tokens)} + {most} tokens are more than max_model_len")
        if not self.settings["enable_chunked_prefill"] and len(tokens) > self.settings["max_num_batched_tokens"]:
            raise ValueError("without chunked prefill a prompt must fit into max_num_batched_tokens")
        sequence = Sequence(request.get_response_sender(), tokens, most, str(parameters.get("ignore_eos", False)).lower() == "true")
        sequence.wants_counts = [
            bool(self.value_of(request, name)) for name in ("return_num_input_tokens", "return_num_output_tokens")
        ]
        return sequence

    @staticmethod
    def value_of(request, name):
        tensor = pb_utils.get_input_tensor_by_name(request, name)
        return None if tensor is None else tensor.as_numpy().reshape(-1)[0]

    def loop(self):
        while not self.is_over:
            self.admit()
            if self.running:
                self.step()

    def admit(self):
        while self.free:
            try:
                # With nothing to do it waits, so that an idle model takes no time.
                sequence = self.waiting.get(block=not self.running, timeout=0.1)
            except queue.Empty:
                return
            if sequence is None:
                return
            sequence.slot = self.free.pop()
            self.lib.llama_memory_seq_rm(self.memory, sequence.slot, -1, -1)
            self.running.append(sequence)

    def step(self):
        """Decodes a token of each running sequence, and as much of waiting prompts as fits beside them."""
        room = self.settings["max_num_batched_tokens"]
        prefills = [each for each in self.running if each.is_prefill]
        decodes = [each for each in self.running if not each.is_prefill]
        rows = []
        if prefills and not self.settings["enable_chunked_prefill"]:
            decodes = []
        for each in decodes:
            rows.append((each, self.add(len(rows), each.last, len(each.tokens) + each.output - 1, each.slot, True)))
        at = len(rows)
        for each in prefills:
            left = len(each.tokens) - each.done
            take = min(left, room - at)
            if take <= 0 or (not self.settings["enable_chunked_prefill"] and take < left):
                break
            for offset in range(take):
                position = each.done + offset
                is_last = position == len(each.tokens) - 1
                self.add(at, each.tokens[position], position, each.slot, is_last)
                if is_last:
                    rows.append((each, at))
                at += 1
            each.done += take
        self.batch.n_tokens = at
        if self.lib.llama_decode(self.context, self.batch) != 0:
            for each in list(self.running):
                self.finish(each, "the step failed")
            return
        for each, row in rows:
            self.emit(each, self.choose(row, each.ignore_eos))

    def add(self, row, token, position, slot, wants_logits):
        batch = self.batch
        batch.token[row] = token
        batch.pos[row] = position
        batch.n_seq_id[row] = 1
        batch.seq_id[row][0] = slot
        batch.logits[row] = 1 if wants_logits else 0
        return row

    def choose(self, row, ignore_eos):
        pointer = self.lib.llama_get_logits_ith(self.context, row)
        logits = np.frombuffer(self.ffi.buffer(pointer, 4 * self.vocab_size), dtype=np.float32)
        if ignore_eos:
            logits = logits.copy()
            logits[self.ends] = -np.inf
        return int(np.argmax(logits))

    def emit(self, sequence, token):
        sequence.last = token
        sequence.output += 1
        is_end = token in self.ends
        text = b"" if is_end else self.piece(token)
        is_last = is_end or sequence.output >= sequence.max_tokens
        outputs = [pb_utils.Tensor("text_output", np.array([text], dtype=np.object_))]
        if sequence.wants_counts[0]:
            outputs.append(pb_utils.Tensor("num_input_tokens", np.array([len(sequence.tokens)], dtype=np.uint32)))
        if sequence.wants_counts[1]:
            outputs.append(pb_utils.Tensor("num_output_tokens", np.array([1], dtype=np.uint32)))
        flags = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL if is_last else 0
        sequence.sender.send(pb_utils.InferenceResponse(output_tensors=outputs), flags=flags)
        if is_last or sequence.sender.is_cancelled():
            if not is_last:
                sequence.sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
            self.leave(sequence)

    def finish(self, sequence, reason):
        sequence.sender.send(
            pb_utils.InferenceResponse(error=pb_utils.TritonError(reason)),
            flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL,
        )
        self.leave(sequence)

    def leave(self, sequence):
        self.running.remove(sequence)
        self.free.append(sequence.slot)

    def finalize(self):
        self.is_over = True
        self.waiting.put(None)
        self.thread.join(timeout=5)
        self.lib.llama_batch_free(self.batch)
        self.lib.llama_free(self.context)
        self.lib.llama_model_free(self.model)
