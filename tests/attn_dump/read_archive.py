"""Reads an archive as docs/attention-archive.md shows it, and checks every number in it independently.

    read_archive.py DOCUMENT ARCHIVE...

Each archive is read with the document's Python examples, run as they stand there, and then checked with h5py alone: sums of
rows, masks, offsets and entropies. Ends with status 77 (skipped) where h5py, xarray or h5netcdf are missing.
"""
import os
import re
import shutil
import sys
import tempfile

try:
    import h5netcdf  # noqa: F401
    import h5py
    import numpy as np
    import xarray as xr  # noqa: F401
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)


def run_examples(document, archive):
    examples = re.findall(r"```python\n(.*?)```", open(document, encoding="utf-8").read(), re.S)
    assert len(examples) == 2, f"{document} has {len(examples)} Python examples; expected 2"
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(archive, os.path.join(folder, "attention.h5"))
        os.chdir(folder)
        names = {}
        try:
            for example in examples:
                exec(compile(example, document, "exec"), names)
        finally:
            os.chdir(here)
    return names["weights"]


def check_kind(file, name):
    group = file["attention"][name]
    half = group["weights"].dtype == np.float16
    offset = group["offset"][:]
    layers, heads = group["layer_index"].size, group["head_index"].size
    assert offset[0] == 0 and offset[-1] == group["weights"].size
    queries_of = file[group.attrs["query_tokens"]]["offset"][:]
    keys_of = file[group.attrs["key_tokens"]]["offset"][:]
    worst_sum = worst_entropy = 0.0
    for i in range(len(offset) - 1):
        queries, keys = group["query_length"][i], group["key_length"][i]
        assert queries == queries_of[i + 1] - queries_of[i] and keys == keys_of[i + 1] - keys_of[i]
        block = group["weights"][offset[i] : offset[i + 1]].astype(np.float64).reshape(layers, heads, queries, keys)
        entropy = group["entropy"][i]
        if queries == 0:
            assert block.size == 0 and np.isnan(entropy).all()
            continue
        assert (block >= 0).all()
        worst_sum = max(worst_sum, np.abs(block.sum(-1) - 1).max())
        if group.attrs["causal"]:
            assert (block[:, :, np.triu(np.ones((queries, keys), bool), 1)] == 0).all()
        logs = np.log(np.where(block > 0, block, 1))
        worst_entropy = max(worst_entropy, np.abs(-(block * logs).sum(-1).mean(-1) - entropy).max())
    assert worst_sum <= (1e-2 if half else 1e-5), worst_sum
    assert worst_entropy <= (1e-2 if half else 1e-4), worst_entropy
    print(f"{name}: rows sum to 1 within {worst_sum:.1e}, entropies agree within {worst_entropy:.1e}")


def check_tokens(file):
    for side, text in (("source", "source_text"), ("target", "target_text")):
        group = file["tokens"][side]
        offset, texts = group["offset"][:], file["sentences"][text][:]
        vocabulary = file["vocabulary"][side].asstr()[:]
        for i, line in enumerate(texts):
            for token, (begin, end) in zip(group["id"][offset[i] : offset[i + 1]], group["span"][offset[i] : offset[i + 1]]):
                word = line[begin:end].decode() if begin >= 0 else ""
                if token >= 4:
                    assert word.lower() == vocabulary[token], (word, vocabulary[token])


def main():
    document, *archives = sys.argv[1:]
    for path in archives:
        print(path)
        weights = run_examples(document, path)
        with h5py.File(path) as file:
            assert weights.ndim == 4
            for name in file["attention"]:
                check_kind(file, name)
            check_tokens(file)


main()
