"""An OpenAI server that is Dynamo's frontend with one mocker: `python dynamo_server.py --packages DIR --port N [flags of the mocker]`.

The mocker's scheduler is vLLM's, with its knobs, and its steps take the time that a GPU would need; tokens are made up. Both parts find each other
by files, and listen on the loopback interface alone: what they would publish about their cache goes to a broker that is not there, as without one
the mocker listens for subscribers on all interfaces, whatever DYN_EVENT_PLANE_HOST says (Dynamo 1.6.1, by `ss -ltnp`). Routing does without it.
The tokenizer is made up too: a word is a token.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile

VOCABULARY = 2000


def write_model(folder):
    words = {"<unk>": 0, "</s>": 1, **{f"w{index}": index for index in range(2, VOCABULARY)}}
    added = [{"id": index, "content": name, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
             for index, name in enumerate(["<unk>", "</s>"])]
    files = {
        "tokenizer.json": {
            "version": "1.0",
            "added_tokens": added,
            "pre_tokenizer": {"type": "Whitespace"},
            "model": {"type": "WordLevel", "vocab": words, "unk_token": "<unk>"},
        },
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": "</s>",
            "unk_token": "<unk>",
            "chat_template": "{% for message in messages %}{{ message['content'] }} {% endfor %}",
        },
        "config.json": {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "vocab_size": VOCABULARY,
            "hidden_size": 64,
            "num_attention_heads": 4,
            "num_hidden_layers": 2,
            "num_key_value_heads": 4,
            "intermediate_size": 128,
            "max_position_embeddings": 8192,
            "bos_token_id": 1,
            "eos_token_id": 1,
            "torch_dtype": "float16",
        },
        "generation_config.json": {"eos_token_id": 1, "bos_token_id": 1},
    }
    for name, content in files.items():
        with open(os.path.join(folder, name), "w") as file:
            json.dump(content, file)


def main():
    arguments = sys.argv[1:]

    def take(name):
        at = arguments.index(name)
        value = arguments[at + 1]
        del arguments[at : at + 2]
        return value

    packages, port = take("--packages"), take("--port")
    folder = tempfile.mkdtemp(prefix="tritune-dynamo-")
    model = os.path.join(folder, "model")
    os.mkdir(model)
    write_model(model)
    loopback = {name: "127.0.0.1" for name in ["DYN_TCP_RPC_HOST", "DYN_TCP_RESPONSE_STREAM_HOST"]}
    # Ports that nothing listens on, so that ZeroMQ drops what is published.
    events = {"DYN_ZMQ_BROKER_URL": "xsub=tcp://127.0.0.1:1 , xpub=tcp://127.0.0.1:2"}
    environment = {**os.environ, **loopback, **events, "PYTHONPATH": packages, "DYN_FILE_KV": os.path.join(folder, "store")}
    planes = ["--discovery-backend", "file", "--request-plane", "tcp"]
    run = [sys.executable, "-m"]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    mocker = [*run, "dynamo.mocker", "--model-path", model, "--model-name", "mock"]
    parts = [subprocess.Popen([*mocker, *planes, *arguments], env=environment)]
    try:
        frontend = [*run, "dynamo.frontend", "--http-host", "127.0.0.1", "--http-port", port]
        parts.append(subprocess.Popen([*frontend, *planes], env=environment))
        # The server is there as long as both are.
        os.wait()
    finally:
        for part in parts:
            part.kill()
    sys.exit(1)


main()
