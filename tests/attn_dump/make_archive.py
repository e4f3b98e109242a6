#!/usr/bin/env python3
"""Writes a small attention archive (docs/file-formats.md) whose tokens try everything that a picture must survive.

    make_archive.py FILE

Sentence 0 is plain, 1 empty, 2 Chinese and Arabic, 3 markup and odd characters, 4 subwords, 5 has 150 tokens.
"""

import hashlib
import struct
import sys

import h5py
import numpy

UNK, PAD, BOS, EOS = range(4)
LAYERS, HEADS = 2, 3
# (source text, its tokens, target text, its tokens)
SENTENCES = [
    ("the small cat sleeps .", "the small cat sleeps .".split(), "die kleine Katze schläft .",
     "die kleine Katze schläft .".split()),
    ("", [], "", []),
    ("我喜歡你的貓 。", ["我", "喜歡", "你的", "貓", "。"], "أحب قطتك كثيرا .", ["أحب", "قطتك", "كثيرا", "."]),
    ("</script> & <b> \u2028 {{data}} <!-- a\tb \"q' e\u0301 \u0301x \\ </style>",
     ["</script>", "&", "<b>", "\u2028", "{{data}}", "<!--", "a\tb", "\"q'", "e\u0301", "\u0301x", "\\", "</style>"],
     "&lt; \u2029 <svg/onload=alert(1)> नमस्ते", ["&lt;", "\u2029", "<svg/onload=alert(1)>", "नमस्ते"]),
    ("unbelievable stories, told", ["un", "believ", "able", "stories", ",", "told"], "unglaubliche Geschichten",
     ["un", "glaub", "liche", "Geschichten"]),
    (" ".join(f"word{i}" for i in range(149)), [f"word{i}" for i in range(149)],
     " ".join(f"Wort{i}" for i in range(139)), [f"Wort{i}" for i in range(139)]),
]
KINDS = {
    "encoder_self": ("source", "source", "consumes", 0),
    "decoder_self": ("decoder_input", "decoder_input", "consumes", 1),
    "cross": ("target", "source", "predicts", 0),
}


def spans_of(text, tokens):
    """The bytes of each token, which follow one another in the text."""
    data, at = text.encode(), 0
    for token in tokens:
        at = data.index(token.encode(), at)
        yield (at, at + len(token.encode()))
        at += len(token.encode())


def vocabulary_of(lists):
    return sorted({token for tokens in lists for token in tokens})


def escaped(token):
    return "".join(f"\\x{ord(c):02x}" if ord(c) < 0x20 or c == "\\" else c for c in token)


def write_strings(file, path, texts):
    return file.create_dataset(path, data=list(texts), shape=(len(texts),), dtype=h5py.string_dtype("utf-8"))


def write_numbers(file, path, values, dtype, name, units="1"):
    dataset = file.create_dataset(path, data=numpy.asarray(values, dtype))
    dataset.attrs["long_name"], dataset.attrs["units"] = name, units
    return dataset


def write_vocabulary(file, path, tokens):
    dataset = write_strings(file, path, ["<unk>", "<pad>", "<bos>", "<eos>"] + [escaped(token) for token in tokens])
    for name, value in (("unk_id", UNK), ("pad_id", PAD), ("bos_id", BOS), ("eos_id", EOS)):
        dataset.attrs[name] = numpy.int32(value)
    digest = hashlib.sha256(struct.pack("<Q", len(tokens)))
    for token in tokens:
        digest.update(struct.pack("<Q", len(token.encode())) + token.encode())
    dataset.attrs["sha256"] = digest.hexdigest()
    dataset.attrs["tokenizer"], dataset.attrs["normalizer"] = "whitespace", "none"


def write_tokens(file, name, lists):
    """`lists`: for each sentence (id, begin, end) triples."""
    flat = [token for tokens in lists for token in tokens]
    write_numbers(file, f"/tokens/{name}/id", [token[0] for token in flat], "i4", "token")
    write_numbers(file, f"/tokens/{name}/span", numpy.array([token[1:] for token in flat]).reshape(-1, 2), "i4",
                  "bytes of the text", "byte")
    offsets = numpy.cumsum([0] + [len(tokens) for tokens in lists])
    write_numbers(file, f"/tokens/{name}/offset", offsets, "i8", "first token of a sentence")


def weights_of(random, queries, keys, causal):
    scores = 3 * random.standard_normal((LAYERS, HEADS, queries, keys))
    # Head 1 looks along the diagonal.
    scores[:, 1] -= numpy.abs(numpy.arange(queries)[:, None] - numpy.arange(keys)[None, :])
    if causal:
        scores[..., numpy.triu(numpy.ones((queries, keys), bool), 1)] = -numpy.inf
    if queries == 0 or keys == 0:
        return scores.astype("f4")
    scores = numpy.exp(scores - scores.max(-1, keepdims=True))
    return (scores / scores.sum(-1, keepdims=True)).astype("f4")


def write_maps(file, name, lengths, random):
    queries_of, keys_of, row, causal = KINDS[name]
    blocks = [weights_of(random, counts[queries_of], counts[keys_of], causal) for counts in lengths]
    path = f"/attention/{name}"
    write_numbers(file, f"{path}/weights", numpy.concatenate([block.ravel() for block in blocks]), "f4",
                  "attention weight")
    write_numbers(file, f"{path}/offset", numpy.cumsum([0] + [block.size for block in blocks]), "i8", "first weight")
    write_numbers(file, f"{path}/query_length", [block.shape[2] for block in blocks], "i4", "queries")
    write_numbers(file, f"{path}/key_length", [block.shape[3] for block in blocks], "i4", "keys")
    write_numbers(file, f"{path}/layer_index", range(LAYERS), "i4", "layer")
    write_numbers(file, f"{path}/head_index", range(HEADS), "i4", "head")
    entropy = numpy.full((len(blocks), LAYERS, HEADS), numpy.nan)
    for i, block in enumerate(blocks):
        if block.size:
            weights = block.astype("f8")
            logarithms = numpy.log(weights, out=numpy.zeros_like(weights), where=weights > 0)
            entropy[i] = -(weights * logarithms).sum(-1).mean(-1)
    write_numbers(file, f"{path}/entropy", entropy, "f4", "entropy", "nat")
    file[path].attrs.update({
        "block_axes": "layer,head,query,key", "block_order": "C", "normalized_axis": "key",
        "stage": "post_softmax_pre_dropout", "causal": numpy.uint8(causal), "score": "scaled_dot",
        "query_tokens": f"/tokens/{queries_of}", "key_tokens": f"/tokens/{keys_of}", "query_row": row,
        "forced_decoding": numpy.uint8(1)})


def main(path):
    source_tokens = vocabulary_of(sentence[1] for sentence in SENTENCES)
    target_tokens = vocabulary_of(sentence[3] for sentence in SENTENCES)
    source, target, fed = [], [], []
    for source_text, source_words, target_text, target_words in SENTENCES:
        end = [(EOS, -1, -1)] if source_words else []
        source.append([(source_tokens.index(word) + 4, *span)
                       for word, span in zip(source_words, spans_of(source_text, source_words))] + end)
        target.append([(target_tokens.index(word) + 4, *span)
                       for word, span in zip(target_words, spans_of(target_text, target_words))] + end)
        fed.append([(BOS, -1, -1)] + target[-1][:-1] if end else [])
    lengths = [{"source": len(source[i]), "target": len(target[i]), "decoder_input": len(fed[i])}
               for i in range(len(SENTENCES))]
    with h5py.File(path, "w") as file:
        file.attrs.update({
            "format": "attn.attention", "format_version": numpy.int32(1), "creator": "make_archive.py",
            "creator_version": "1", "created_utc": "2024-01-01T00:00:00Z", "command_line": "make_archive.py",
            "backend": "none", "device": "none", "checkpoint_sha256": "0" * 64, "config_sha256": "0" * 64})
        write_numbers(file, "/sentences/line", range(1, len(SENTENCES) + 1), "u8", "input line")
        write_strings(file, "/sentences/source_text", [sentence[0] for sentence in SENTENCES])
        write_strings(file, "/sentences/target_text", [sentence[2] for sentence in SENTENCES])
        write_numbers(file, "/sentences/source_length", [counts["source"] for counts in lengths], "i4", "tokens")
        write_numbers(file, "/sentences/target_length", [counts["target"] for counts in lengths], "i4", "tokens")
        scores = [-1.5 if counts["source"] else numpy.nan for counts in lengths]
        write_numbers(file, "/sentences/score", scores, "f8", "log-probability", "nat")
        write_numbers(file, "/sentences/status", [0 if counts["source"] else 1 for counts in lengths], "u1", "status")
        write_vocabulary(file, "/vocabulary/source", source_tokens)
        write_vocabulary(file, "/vocabulary/target", target_tokens)
        for name, lists in (("source", source), ("target", target), ("decoder_input", fed)):
            write_tokens(file, name, lists)
        random = numpy.random.default_rng(4)
        for name in KINDS:
            write_maps(file, name, lengths, random)
        file.attrs["complete"] = numpy.uint8(1)


if __name__ == "__main__":
    main(sys.argv[1])
