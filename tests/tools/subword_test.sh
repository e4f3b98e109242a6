#!/usr/bin/env bash
# Subwords as users meet them: trains tiny models with sentencepiece and bpe tokenizers, translates with nothing
# but their checkpoints, and looks at the spans of the tokens. Usage: subword_test.sh FOLDER_OF_THE_PROGRAMS
set -uo pipefail

programs=$(cd "${1:?name the folder of the programs}" && pwd)
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

backend=reference
compgen -G "$programs/../lib/attn/backends/libattn-backend-eigen*.so" >/dev/null && backend=eigen
python=true
for candidate in /usr/bin/python3 python3; do
    "$candidate" -c 'import h5py' 2>/dev/null && python=$candidate && break
done
[[ $python != true ]] || echo "no h5py: what is in the HDF5 files is not checked"

failures=0
complain() {
    printf 'FAILED: %s\n' "$1" >&2
    failures=$((failures + 1))
}

same() {
    [[ $1 == "$2" ]] || complain "$3: found '$1', expected '$2'"
}

# run STATUS WHAT PROGRAM ARGUMENTS...: output in the files stdout and stderr
run() {
    local status=$1 what=$2 program=$3 found=0
    shift 3
    timeout 120 "$programs/$program" "$@" >stdout 2>stderr || found=$?
    same "$found" "$status" "exit status: $what ($(tail -5 stderr))"
}

head -400 "$project/datasets/small-world/train.tsv" >pairs.tsv
head -30 "$project/datasets/small-world/test.en" >source.txt

# config NAME, with further lines of the configuration on standard input
config() {
    {
        cat <<YAML
name: $1
run_root: runs
backend: {name: $backend, threads: 1}
model: {type: transformer, hidden_size: 16, feed_forward_size: 16, encoder_layers: 1, decoder_layers: 1, heads: 2}
training: {epochs: 1, batch_size: 64}
report: {sample_count: 2, max_length: 12}
YAML
        cat
    } >"$1.yaml"
}

# ---- sentencepiece, trained on the corpus

for name in pieces again; do
    config "$name" <<'YAML'
data: {train: pairs.tsv, source_tokenizer: sentencepiece, target_tokenizer: sentencepiece}
subwords: {vocabulary_size: 360, algorithm: bpe, byte_fallback: true}
YAML
    run 0 "training with subwords" attn-train "$name.yaml"
done
says "vocabularies 360 / 360" "training"
cmp -s runs/pieces/source.model runs/again/source.model || complain "two trainings made different source models"
cmp -s runs/pieces/target.model runs/again/target.model || complain "two trainings made different target models"
if cmp -s runs/pieces/source.model runs/pieces/target.model; then complain "separate models are equal"; fi

checkpoint=only.h5
cp runs/pieces/checkpoints/update-*.h5 $checkpoint
mkdir aside && mv runs/pieces/*.model aside
printf 'The ﬁne ☃ girl\n\n\xe2\x80\xa8 x\x01  y\n猫\n' >>source.txt
run 0 "translating with the checkpoint alone" attn-translate --backend "$backend" --max-length 30 $checkpoint -i source.txt
same "$(wc -l <stdout)" "$(wc -l <source.txt)" "lines of the translation"
if grep -q '▁' stdout; then complain "a translation is not detokenised: $(grep -m1 '▁' stdout)"; fi

# ---- spans

run 0 "dumping attention" attn-dump attention --backend "$backend" $checkpoint -i source.txt --target source.txt -o attention.h5
run 0 "the archive is as specified" attn-dump validate attention.h5
$python - <<'PYTHON' || complain "the spans of the tokens are not as expected"
import h5py, hashlib
archive = h5py.File("attention.h5")
lines = open("source.txt", "rb").read().split(b"\n")[:-1]
vocabulary = [piece.decode() for piece in archive["vocabulary/source"][:]]
assert archive["vocabulary/source"].attrs["tokenizer"] in ("sentencepiece", b"sentencepiece")
assert archive["vocabulary/source"].attrs["normalizer"] in ("identity", b"identity")
for side in ("source", "target"):
    ids, spans = archive[f"tokens/{side}/id"][:], archive[f"tokens/{side}/span"][:]
    offsets = archive[f"tokens/{side}/offset"][:]
    for i, line in enumerate(lines):
        begin, end = offsets[i], offsets[i + 1]
        if begin == end:
            assert line == b"", line
            continue
        assert ids[end - 1] == 3 and tuple(spans[end - 1]) == (-1, -1)  # <eos>
        covered = set()
        for token in range(begin, end - 1):
            covered.update(range(*spans[token]))
            if side == "source" and not vocabulary[ids[token]].startswith("<0x"):
                text = line[spans[token][0]:spans[token][1]].decode().strip(" ")
                piece = vocabulary[ids[token]].replace("▁", " ").strip(" ")
                assert text == piece or "\\x" in piece, (line, text, piece)
        assert covered == set(range(len(line))), line
checkpoint = h5py.File("only.h5")
for side in ("source", "target"):
    blob = checkpoint[f"vocabulary/{side}_subwords"]
    model = open(f"aside/{side}.model", "rb").read()
    assert blob.dtype == "uint8" and blob[:].tobytes() == model
    digest = blob.attrs["sha256"]
    assert hashlib.sha256(model).hexdigest() == (digest.decode() if isinstance(digest, bytes) else digest)
PYTHON

# ---- models that exist, shared by both sides; resuming

config joint <<'YAML'
data: {train: pairs.tsv, source_tokenizer: sentencepiece, target_tokenizer: sentencepiece, shared_vocabulary: true}
subwords: {vocabulary_size: 200, algorithm: bpe, character_coverage: 1}
YAML
sed -i 's/^model: {/model: {tying: all, /' joint.yaml
run 0 "training with joint subwords" attn-train joint.yaml
cmp -s runs/joint/source.model runs/joint/target.model || complain "joint models differ"
run 0 "resuming with subwords" attn-train joint.yaml --resume --epochs 2
run 0 "an existing model" attn-train joint.yaml --name given --set subwords.source_model=runs/joint/source.model
run 4 "resuming with the model of another vocabulary" attn-train joint.yaml --resume --epochs 3 \
    --set subwords.source_model=aside/source.model
says "its source vocabulary is not the one that the SentencePiece model has now" "another model"

head -c 2000 aside/source.model >damaged.model
run 4 "a damaged model" attn-train joint.yaml --name bad --set subwords.source_model=damaged.model
says "damaged.model is no SentencePiece model, or a damaged one" "a damaged model"
run 5 "a model that is missing" attn-train joint.yaml --name bad --set subwords.source_model=nowhere.model
says "nowhere.model" "a missing model"
run 3 "a vocabulary larger than the corpus allows" attn-train joint.yaml --name bad --set subwords.vocabulary_size=90000
says "a subword vocabulary of 90000 entries is larger than 'pairs.tsv' allows; set subwords.vocabulary_size to" "too large"
run 3 "a model for a side without subwords" attn-train joint.yaml --name bad --set data.source_tokenizer=word \
    --set subwords.source_model=runs/joint/source.model
says "needs data.source_tokenizer: sentencepiece" "a model without its tokenizer"
run 3 "a limit for words" attn-train joint.yaml --name bad --set data.max_vocabulary=100
says "set subwords.vocabulary_size" "a limit for words"
run 3 "user symbols" attn-train joint.yaml --name bad --set 'subwords.user_symbols=[a, "b c"]'
says "subwords.user_symbols" "a user symbol with a blank"

# ---- only the vocabularies

run 0 "only the vocabularies" attn-train joint.yaml --vocabulary-only made/here
for file in source target; do
    cmp -s "made/here/$file.model" runs/joint/source.model || complain "--vocabulary-only made another $file model"
    same "$(wc -l <"made/here/$file.tokens")" 196 "tokens of the $file vocabulary"
done
grep -q 'source vocabulary of 200 entries' stdout || complain "--vocabulary-only says: $(cat stdout)"
run 0 "only the vocabularies, as JSON" attn-train joint.yaml --vocabulary-only made/here --json
grep -q '"source":{"vocabulary":200,' stdout || complain "--vocabulary-only --json says: $(cat stdout)"
run 2 "a vocabulary and a dry run" attn-train joint.yaml --vocabulary-only made --dry-run
run 5 "a folder that cannot be made" attn-train joint.yaml --vocabulary-only pairs.tsv/x
says "pairs.tsv/x" "a folder that cannot be made"

# ---- bpe: text that is split already, and codes that split it

printf '#version: 0.2\nt h\nth e</w>\na t</w>\nc at</w>\ns e\nse e\nsee s</w>\n' >codes
printf 'the cat s@@ ees\tl@@ e ch@@ at\nthe c@@ at\tle ch@@ at\n' >split.tsv
config split <<'YAML'
data: {train: split.tsv, source_tokenizer: bpe, target_tokenizer: bpe}
YAML
run 0 "training on split text" attn-train split.yaml
printf 'the cat s@@ ees\n' >line.txt
run 0 "translating split text" attn-translate --backend "$backend" --max-length 12 runs/split -i line.txt
if grep -q '@@' stdout; then complain "parts of words are not joined: $(cat stdout)"; fi

config codes <<'YAML'
data: {train: plain.tsv, source_tokenizer: bpe, target_tokenizer: word}
subwords: {source_codes: codes}
YAML
printf 'the cat sees\tle chat voit\nthe rat\tle rat\n' >plain.tsv
run 0 "training with codes" attn-train codes.yaml
mv codes codes.moved
run 0 "translating with the codes of the checkpoint" attn-translate --backend "$backend" --max-length 12 runs/codes -i line.txt
printf 'abc\n' >codes
run 4 "damaged codes" attn-train codes.yaml --name bad
says "codes:1: 'abc' is no merge" "damaged codes"

if [[ $failures -gt 0 ]]; then
    echo "$failures checks failed" >&2
    exit 1
fi
echo "all checks passed"
