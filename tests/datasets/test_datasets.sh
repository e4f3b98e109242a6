#!/usr/bin/env bash
# Our own corpora keep their promises, and fetch-datasets.sh converts, verifies and refuses. Needs no network.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
fetch=$root/scripts/fetch-datasets.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1

for program in python3 curl unzip gzip tar; do
    if ! command -v "$program" >/dev/null; then
        echo "skipped: $program is not installed"
        exit 77
    fi
done

die() {
    printf 'FAILED: %s\n' "$1" >&2
    exit 1
}

same() {
    [[ $1 == "$2" ]] || die "$3: found '$1', expected '$2'"
}

# refused EXIT_STATUS WORDS COMMAND...: the command fails with that status and a message that has these words
refused() {
    local status=$1 words=$2 found=0
    shift 2
    "$@" >"$work/stdout" 2>"$work/stderr" || found=$?
    same "$found" "$status" "exit status of $*"
    grep -qF -- "$words" "$work/stderr" || die "$* does not say '$words' but: $(cat "$work/stderr")"
}

echo "the committed small-world files are what the generator writes"
python3 "$root/datasets/small-world/generate.py" --check >/dev/null
cp -r "$root/datasets/small-world" "$work/small-world"
printf 'x\n' >>"$work/small-world/test.fr"
refused 1 "test.fr differs" python3 "$work/small-world/generate.py" --check

echo "every pair has two columns, none comes twice, the Chinese set has its cat"
for file in small-world/train.tsv small-world/valid.tsv small-world/test.tsv phrasebook/phrases.tsv \
    chinese-english/pairs.tsv; do
    same "$(awk -F '\t' 'NF != 2 || $1 == "" || $2 == ""' "$root/datasets/$file" | wc -l | tr -d ' ')" 0 "$file"
    same "$(sort "$root/datasets/$file" | uniq -d)" "" "repeated pairs of $file"
done
grep -qx "$(printf 'the cat eats fish\t猫吃鱼')" "$root/datasets/chinese-english/pairs.tsv" || die "no cat"
(($(wc -l <"$root/datasets/phrasebook/phrases.tsv") >= 600)) || die "the phrase book is too short"

echo "a changed file is refused and nothing is written, --accept-changed takes it"
mkdir "$work/published"
printf 'Go.\tVa !\tsomebody\nHi.\tSalut !\tsomebody else\n' >"$work/published/fra.txt"
refused 1 "--accept-changed" "$fetch" --from "$work/published" tatoeba-fra "$work/fra"
[[ ! -e $work/fra ]] || die "a refused file was written"
"$fetch" --accept-changed --from "$work/published" tatoeba-fra "$work/fra" >/dev/null 2>&1
same "$(cat "$work/fra/pairs.tsv")" "$(printf 'Go.\tVa !\nHi.\tSalut !')" "pairs.tsv"
same "$(tail -n 1 "$work/fra/attribution.txt")" "somebody else" "attribution.txt"

echo "an archive is fetched from a mirror and unpacked, with or without a folder inside"
(cd "$work/published" && mkdir fra-eng && cp fra.txt fra-eng && python3 -m zipfile -c fra-eng.zip fra-eng)
"$fetch" --accept-changed --mirror "file://$work/published" tatoeba-fra "$work/fra2" >/dev/null 2>&1
cmp "$work/fra/pairs.tsv" "$work/fra2/pairs.tsv"
(cd "$work/published" && cp fra.txt cmn.txt && python3 -m zipfile -c cmn-eng.zip cmn.txt)
"$fetch" --accept-changed --mirror "file://$work/published" tatoeba-cmn "$work/cmn" >/dev/null 2>&1
cmp "$work/fra/pairs.tsv" "$work/cmn/pairs.tsv"
refused 1 "cannot fetch" "$fetch" --mirror "file://$work/nowhere" tatoeba-fra "$work/fra3"

echo "Multi30k: compressed files, and a TAB in a sentence does not make a third column"
for name in train val test_2016_flickr; do
    for language in en de fr; do
        printf 'one %s\ttwo\nthree\n' "$language" | gzip >"$work/published/$name.$language.gz"
    done
done
"$fetch" --accept-changed --mirror "file://$work/published" multi30k "$work/multi30k" >/dev/null 2>&1
same "$(head -n 1 "$work/multi30k/valid.en-fr.tsv")" "$(printf 'one en two\tone fr two')" "valid.en-fr.tsv"
printf 'cut' >"$work/published/train.en.gz"
refused 1 "not a whole gzip file" "$fetch" --accept-changed --from "$work/published" multi30k "$work/multi30k2"

echo "IWSLT14: tags go, entities become characters, every 23rd pair is for validation"
mkdir "$work/published/de-en"
for language in de en; do
    {
        printf '<url>http://example.org</url>\n<keywords>a, b</keywords>\n<title>Title %s</title>\n' "$language"
        for number in $(seq 45); do printf ' %s&apos;s sentence %s\n' "$language" "$number"; done
        printf 'one two three four five six\n'
    } >"$work/published/de-en/train.tags.de-en.$language"
    for set in TED.dev2010 TEDX.dev2012 TED.tst2010 TED.tst2011 TED.tst2012; do
        printf '<doc>\n<seg id="1"> %s &amp; %s </seg>\n</doc>\n' "$set" "$language" \
            >"$work/published/de-en/IWSLT14.$set.de-en.$language.xml"
    done
done
tar -czf "$work/published/de-en.tgz" -C "$work/published" de-en
refused 1 "md5 of de-en.tgz" "$fetch" --mirror "file://$work/published" iwslt14 "$work/iwslt"
"$fetch" --accept-changed --mirror "file://$work/published" iwslt14 "$work/iwslt" >/dev/null 2>&1
same "$(wc -l <"$work/iwslt/train.tsv" | tr -d ' ')" 45 "pairs of train.tsv"
same "$(wc -l <"$work/iwslt/valid.tsv" | tr -d ' ')" 2 "pairs of valid.tsv"
same "$(head -n 2 "$work/iwslt/train.en")" "$(printf "Title en\nen's sentence 1")" "train.en"
same "$(head -n 1 "$work/iwslt/test.tsv")" "$(printf 'TED.dev2010 & de\tTED.dev2010 & en')" "test.tsv"

echo "wrong use is explained"
refused 2 "unknown corpus" "$fetch" --from "$work" wmt
refused 2 "unknown option" "$fetch" --form "$work" multi30k
refused 1 "does not exist" "$fetch" --from "$work/missing" multi30k
echo "all passed"
