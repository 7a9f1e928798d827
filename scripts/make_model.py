#!/usr/bin/env python3
"""Writes all-MiniLM-L6-v2 as an int8 ONNX file: make_model.py WEIGHTS_FOLDER OUTPUT_FOLDER

The published weights are safetensors without a graph. This builds the graph of the encoder (inputs
input_ids, attention_mask and token_type_ids of shape [batch, tokens]; output last_hidden_state of
shape [batch, tokens, 384]; pooling is the reader's), quantises it, and refuses to write a model
that does not do what the original does.
"""

import json
import logging
import math
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load_file
from tokenizers import Tokenizer

OPSET = 17
# What the model's readers need beside the graph.
COMPANIONS = ("tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json")

# Three sentences and their cosine similarities as sentence-transformers documents them for this model.
SENTENCES = ("The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium.")
PUBLISHED = {(0, 1): 0.6660, (0, 2): 0.1046, (1, 2): 0.1411}
# A pair that means the same and one that does not, from the language of code.
SIMILAR = ("retry the payment when the gateway times out", "on a gateway timeout, charge again")
DISSIMILAR = ("retry the payment when the gateway times out", "the logo is drawn in dark blue")


class Graph:
    """Nodes and weights of a graph under construction; each method returns the name it wrote."""

    def __init__(self, weights):
        self.weights, self.nodes, self.initializers = weights, [], {}

    def constant(self, name, array):
        if name not in self.initializers:
            self.initializers[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def weight(self, name):
        return self.constant(name, self.weights[name].astype(np.float32))

    def scalar(self, value):
        return self.constant(f"scalar_{value}", np.array(value, np.float32))

    def integers(self, *values):
        return self.constant(f"integers_{'_'.join(map(str, values))}", np.array(values, np.int64))

    def op(self, kind, *inputs, **attributes):
        output = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], output, **attributes))
        return output

    def linear(self, x, layer):
        # Weights are stored [out, in]; MatMul wants [in, out], and as a constant to be quantised.
        matrix = self.constant(
            f"{layer}.weight.t", self.weights[f"{layer}.weight"].T.astype(np.float32)
        )
        return self.op("Add", self.op("MatMul", x, matrix), self.weight(f"{layer}.bias"))

    def norm(self, x, layer, epsilon):
        scale, bias = self.weight(f"{layer}.weight"), self.weight(f"{layer}.bias")
        return self.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=epsilon)


def build(weights, config):
    """The encoder's graph as an ONNX model."""
    graph = Graph(weights)
    hidden, epsilon = embed(graph, config), config["layer_norm_eps"]
    mask = attention_bias(graph)
    for index in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{index}"
        attended = attention(graph, hidden, mask, f"{layer}.attention", config)
        hidden = graph.norm(
            graph.op("Add", hidden, attended), f"{layer}.attention.output.LayerNorm", epsilon
        )
        widened = gelu(graph, graph.linear(hidden, f"{layer}.intermediate.dense"))
        narrowed = graph.linear(widened, f"{layer}.output.dense")
        hidden = graph.norm(
            graph.op("Add", hidden, narrowed), f"{layer}.output.LayerNorm", epsilon
        )
    graph.nodes.append(helper.make_node("Identity", [hidden], ["last_hidden_state"]))
    return finish(graph, config["hidden_size"])


def embed(graph, config):
    """Sum of the word, position and token type embeddings, normalised."""
    words = graph.op("Gather", graph.weight("embeddings.word_embeddings.weight"), "input_ids")
    types = graph.op(
        "Gather", graph.weight("embeddings.token_type_embeddings.weight"), "token_type_ids"
    )
    tokens = graph.op("Shape", "input_ids", start=1, end=2)
    table = graph.weight("embeddings.position_embeddings.weight")
    positions = graph.op("Slice", table, graph.integers(0), tokens, graph.integers(0))
    total = graph.op("Add", graph.op("Add", words, types), positions)
    return graph.norm(total, "embeddings.LayerNorm", config["layer_norm_eps"])


def attention_bias(graph):
    """[batch, 1, 1, tokens]: zero where there is a token, very negative where there is padding."""
    mask = graph.op("Cast", "attention_mask", to=TensorProto.FLOAT)
    mask = graph.op("Unsqueeze", mask, graph.integers(1, 2))
    return graph.op("Mul", graph.op("Sub", mask, graph.scalar(1.0)), graph.scalar(10000.0))


def attention(graph, hidden, mask, layer, config):
    """Multi-head self-attention with its output projection."""
    heads = config["num_attention_heads"]
    width = config["hidden_size"] // heads
    split = graph.integers(0, 0, heads, width)

    def project(name, order):
        projected = graph.linear(hidden, f"{layer}.self.{name}")
        return graph.op("Transpose", graph.op("Reshape", projected, split), perm=order)

    scores = graph.op("MatMul", project("query", [0, 2, 1, 3]), project("key", [0, 2, 3, 1]))
    scores = graph.op("Mul", scores, graph.scalar(1.0 / math.sqrt(width)))
    shares = graph.op("Softmax", graph.op("Add", scores, mask), axis=-1)
    mixed = graph.op("MatMul", shares, project("value", [0, 2, 1, 3]))
    mixed = graph.op("Transpose", mixed, perm=[0, 2, 1, 3])
    joined = graph.op("Reshape", mixed, graph.integers(0, 0, config["hidden_size"]))
    return graph.linear(joined, f"{layer}.output.dense")


def gelu(graph, x):
    """The exact GELU, spelt so that ONNX runtime recognises and fuses it."""
    erf = graph.op("Erf", graph.op("Div", x, graph.scalar(math.sqrt(2.0))))
    product = graph.op("Mul", x, graph.op("Add", erf, graph.scalar(1.0)))
    return graph.op("Mul", product, graph.scalar(0.5))


def finish(graph, width):
    """Declares inputs and output, and checks the whole."""
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    output = helper.make_tensor_value_info(
        "last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", width]
    )
    body = helper.make_graph(
        graph.nodes, "all-MiniLM-L6-v2", inputs, [output], list(graph.initializers.values())
    )
    model = helper.make_model(body, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


def vectors(model, tokenizer, texts):
    """Mean-pooled, L2-normalised embeddings of the texts: [texts, 384]."""
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    encoded = tokenizer.encode_batch(list(texts))
    feed = {
        "input_ids": np.array([text.ids for text in encoded], np.int64),
        "attention_mask": np.array([text.attention_mask for text in encoded], np.int64),
        "token_type_ids": np.array([text.type_ids for text in encoded], np.int64),
    }
    [hidden] = session.run(None, feed)
    mask = feed["attention_mask"][:, :, None].astype(np.float32)
    pooled = (hidden * mask).sum(axis=1) / mask.sum(axis=1)
    return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)


def verify(full, quantised, tokenizer):
    """Raises when either file does not behave as the published model; returns the agreement."""
    tokenizer.enable_padding()
    texts = (*SENTENCES, *SIMILAR, *DISSIMILAR)
    exact, rounded = vectors(full, tokenizer, texts), vectors(quantised, tokenizer, texts)
    for (left, right), expected in PUBLISHED.items():
        found = float(exact[left] @ exact[right])
        require(abs(found - expected) < 1e-3, f"similarity {found:.4f}, published {expected:.4f}")
    agreement = float((exact * rounded).sum(axis=1).min())
    require(agreement > 0.98, f"int8 agrees with fp32 by a cosine of {agreement:.4f} only")
    near, far = float(rounded[3] @ rounded[4]), float(rounded[5] @ rounded[6])
    require(near > far + 0.2, f"a paraphrase scores {near:.3f}, an unrelated text {far:.3f}")
    return agreement


def require(condition, complaint):
    if not condition:
        sys.exit(f"make_model: the model is not what it should be: {complaint}")


def main(source, target):
    logging.disable(logging.WARNING)  # The quantiser advises pre-processing, which is for images.
    config = json.loads((source / "config.json").read_text())
    tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
    with tempfile.TemporaryDirectory() as folder:
        full = Path(folder) / "full.onnx"
        onnx.save(build(load_file(source / "model.safetensors"), config), full)
        # Per channel: with one scale for a whole matrix retrieval loses a tenth.
        quantize_dynamic(full, target / "model.onnx", per_channel=True, weight_type=QuantType.QInt8)
        agreement = verify(full, target / "model.onnx", tokenizer)
    for name in COMPANIONS:
        shutil.copyfile(source / name, target / name)
    print(f"make_model: int8 agrees with fp32 by a cosine of at least {agreement:.4f}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
