#!/usr/bin/env bash
# Fetches a public corpus, verifies its checksums and converts it to the layouts that attn reads.
set -euo pipefail

program=${0##*/}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage() {
    cat <<END
usage: $program [options] NAME [DESTINATION]

NAME is one of
  tatoeba-fra   English-French pairs of Tatoeba (2019-04-07, the copy that "Dive into Deep Learning" uses)
  tatoeba-cmn   English-Chinese pairs of Tatoeba
  multi30k      image captions in English, German and French (task 1, raw)
  iwslt14       German-English TED talks (the archive that fairseq's prepare-iwslt14.sh uses)

DESTINATION is a folder, datasets/public/NAME unless given.

options
  --from DIRECTORY   convert files that were already downloaded, use no network
  --mirror URL       fetch the published files from this address instead
  --newest           tatoeba-fra: fetch today's file of manythings.org, not the book's copy
  --accept-changed   go on with a warning when a checksum differs
  --help             show this text

A file whose SHA-256 is not a known one is refused, and nothing is written, unless --accept-changed is given:
manythings.org renews its archives every few months under the same names.
END
}

fail() {
    printf '%s: %s\n' "$program" "$1" >&2
    exit 1
}

misuse() {
    printf '%s: %s (see %s --help)\n' "$program" "$1" "$program" >&2
    exit 2
}

need() {
    command -v "$1" >/dev/null || fail "the program '$1' is needed; install it and try again"
}

# checksum ALGORITHM FILE, as hexadecimal digits
checksum() {
    case $1 in
        sha256) if command -v sha256sum >/dev/null; then sha256sum "$2"; else shasum -a 256 "$2"; fi ;;
        md5) if command -v md5sum >/dev/null; then md5sum "$2"; else md5 -r "$2"; fi ;;
    esac | cut -d ' ' -f 1
}

# verify ALGORITHM FILE NAME KNOWN...
verify() {
    local algorithm=$1 file=$2 name=$3 found known
    shift 3
    found=$(checksum "$algorithm" "$file")
    for known in "$@"; do
        if [[ $found == "$known" ]]; then
            printf '%s: %s matches\n' "$name" "$algorithm"
            return
        fi
    done
    if ((accept_changed)); then
        printf '%s: warning: %s of %s is %s, expected %s; used because of --accept-changed\n' \
            "$program" "$algorithm" "$name" "$found" "$*" >&2
    else
        fail "$algorithm of $name is $found, expected $*; the published file has changed or is damaged: \
use --accept-changed to take it all the same"
    fi
}

# fetch URL FILE: download to a file in the work folder; with --mirror, its last part from there
fetch() {
    local url=$1
    if [[ -n $mirror ]]; then url=${mirror%/}/${url##*/}; fi
    printf 'fetching %s\n' "$url"
    curl --fail --location --silent --show-error --retry 3 --connect-timeout 30 --output "$2" "$url" ||
        fail "cannot fetch $url; download it by other means and use --from DIRECTORY"
}

# first_existing NAME...: the first of these files that lies in the --from folder
first_existing() {
    local name
    for name in "$@"; do
        if [[ -f $from/$name ]]; then
            printf '%s\n' "$from/$name"
            return
        fi
    done
    return 1
}

lines() {
    wc -l <"$1" | tr -d ' '
}

same_length() {
    [[ $(lines "$1") == "$(lines "$2")" ]] ||
        fail "${1##*/} has $(lines "$1") lines but ${2##*/} has $(lines "$2"); they do not belong together"
}

# two_columns FIRST SECOND: a TSV; a TAB inside a sentence becomes a space
two_columns() {
    paste -d '\n' <(tr '\t' ' ' <"$1") <(tr '\t' ' ' <"$2") | paste -d '\t' - -
}

# install_results: move everything from the result folder to the destination
install_results() {
    local file
    mkdir -p "$destination" || fail "cannot make the folder $destination"
    for file in "$results"/*; do
        mv -f "$file" "$destination/" || fail "cannot write to $destination"
        printf 'wrote %s (%s lines)\n' "$destination/${file##*/}" "$(lines "$destination/${file##*/}")"
    done
}

# tatoeba URL MEMBER CANDIDATES KNOWN...: CANDIDATES are file names in the --from folder, separated by spaces
tatoeba() {
    local url=$1 member=$2 text=$work/pairs.txt candidates found
    read -ra candidates <<<"$3"
    shift 3
    if [[ -n $from ]] && found=$(first_existing "${candidates[@]}"); then
        cp "$found" "$text"
    else
        local archive=$work/archive.zip
        need unzip
        if [[ -n $from ]]; then
            archive=$(first_existing "${url##*/}") || fail "$from has none of ${candidates[*]} ${url##*/}"
        else
            fetch "$url" "$archive"
        fi
        # The book's copy has a folder inside, that of manythings.org has not.
        unzip -qp "$archive" "$member" >"$text" 2>/dev/null || unzip -qp "$archive" "*/$member" >"$text" ||
            fail "${url##*/} holds no $member"
        [[ -s $text ]] || fail "${url##*/} holds an empty $member"
    fi
    verify sha256 "$text" "$member" "$@"
    # Newer files have the attribution of each pair in a third column: keep it beside the pairs.
    cut -f 1,2 "$text" >"$results/pairs.tsv"
    if [[ $(head -n 1 "$text" | tr -cd '\t' | wc -c) -ge 2 ]]; then
        cut -f 3 "$text" >"$results/attribution.txt"
    fi
}

multi30k() {
    local base=https://github.com/multi30k/dataset/raw/master/data/task1/raw
    local split language sum name target plain
    need gzip
    while read -r sum name; do
        split=${name%.*} language=${name##*.}
        case $split in val) target=valid ;; test_2016_flickr) target="test" ;; *) target=$split ;; esac
        plain=$results/$target.$language
        if [[ -z $from ]]; then
            fetch "$base/$name.gz" "$work/$name.gz"
            gzip -dc "$work/$name.gz" >"$plain" || fail "$name.gz is not a whole gzip file"
        elif [[ -f $from/$name ]]; then
            cp "$from/$name" "$plain"
        elif [[ -f $from/$name.gz ]]; then
            gzip -dc "$from/$name.gz" >"$plain" || fail "$from/$name.gz is not a whole gzip file"
        else
            fail "$from has neither $name nor $name.gz"
        fi
        verify sha256 "$plain" "$name" "$sum"
    done <<'END'
460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6 train.en
2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72 train.de
5925a3c18f1587b6b54b87743106e6e8ab93618edb6f65d19eac0621f853a10d train.fr
1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227 val.en
660e09eb7e1da2f856ea13ee5ad3cf6d36b3d5b0b733c857e94c5747a3dfc660 val.de
5304e444d842e962b2dda4d816b70b22a1765b15401642b7ca37a67477e708dc val.fr
399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182 test_2016_flickr.en
4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16 test_2016_flickr.de
cb3160d69b002bb638e66cc7612fcd56cb0af82eadc9c142dedc438afb885ef6 test_2016_flickr.fr
END
    for target in train valid test; do
        for language in de fr; do
            same_length "$results/$target.en" "$results/$target.$language"
            two_columns "$results/$target.en" "$results/$target.$language" >"$results/$target.en-$language.tsv"
        done
    done
}

# unescape: the entities that the Moses tokenizer and XML write
unescape() {
    sed -e "s/&apos;/'/g" -e 's/&quot;/"/g' -e 's/&#124;/|/g' -e 's/&#91;/[/g' -e 's/&#93;/]/g' \
        -e 's/&lt;/</g' -e 's/&gt;/>/g' -e 's/&amp;/\&/g'
}

# iwslt14_archive FOLDER: from the XML of the archive; splits as prepare-iwslt14.sh makes them (every 23rd pair of
# the training part is for validation, five sets together are the test), text neither tokenised nor lower-cased
iwslt14_archive() {
    local folder=$1 language set count
    for language in de en; do
        [[ -f $folder/train.tags.de-en.$language ]] || fail "$folder has no train.tags.de-en.$language"
        # Of the tagged lines only titles and descriptions are text that has a translation.
        sed -n -e 's/<\/\{0,1\}title>//g' -e 's/<\/\{0,1\}description>//g' -e '/^[[:space:]]*</d' \
            -e 's/^[[:space:]]*//' -e 's/[[:space:]]*$//' -e p "$folder/train.tags.de-en.$language" |
            unescape >"$work/all.$language"
        : >"$results/test.$language"
        for set in TED.dev2010 TEDX.dev2012 TED.tst2010 TED.tst2011 TED.tst2012; do
            [[ -f $folder/IWSLT14.$set.de-en.$language.xml ]] ||
                fail "$folder has no IWSLT14.$set.de-en.$language.xml"
            sed -n 's/^[[:space:]]*<seg id="[0-9]*">[[:space:]]*\(.*[^[:space:]]\)[[:space:]]*<\/seg>.*$/\1/p' \
                "$folder/IWSLT14.$set.de-en.$language.xml" | unescape >"$work/$set"
            count=$(lines "$work/$set")
            case $set in TED.dev2010) [[ $count == 887 ]] ;; TED.tst2012) [[ $count == 1700 ]] ;; esac ||
                ((accept_changed)) || fail "$set.$language has $count sentences, expected 887 for dev2010 and \
1700 for tst2012; use --accept-changed to go on"
            cat "$work/$set" >>"$results/test.$language"
        done
    done
    same_length "$work/all.de" "$work/all.en"
    two_columns "$work/all.de" "$work/all.en" | LC_ALL=C awk -F '\t' -v folder="$results" '
        { german = split($1, words, " "); english = split($2, words, " ")
          if (german < 1 || english < 1 || german > 175 || english > 175) next
          if (german > 1.5 * english || english > 1.5 * german) next
          part = (++kept % 23 == 0) ? "valid" : "train"
          print $1 > (folder "/" part ".de"); print $2 > (folder "/" part ".en") }'
    [[ -s $results/train.de && -s $results/valid.de ]] || fail "the training part of $folder has too few pairs"
}

# iwslt14_plain TRAIN VALID TEST: names without language of plain files in the --from folder
iwslt14_plain() {
    local language name target
    for language in de en; do
        for target in train valid test; do
            case $target in train) name=$1 ;; valid) name=$2 ;; test) name=$3 ;; esac
            [[ -f $from/$name.$language ]] || fail "$from has no $name.$language"
            case $name.$language in
                IWSLT14.TED.dev2010.de-en.de) set -- "$@" ea908cf47527db56f4a4ce8cb77dc5363efe2e105a7df7ca0834e52d8868668f ;;
                IWSLT14.TED.dev2010.de-en.en) set -- "$@" d1052267bd4ec704da0e24967156b90498548dc1ed540f6263709bf75163e041 ;;
                IWSLT14.TED.tst2012.de-en.de) set -- "$@" 672c1b7effc0913b18df9376baa0fe0736f95d413c5828792bf274f2d3ddf3c9 ;;
                IWSLT14.TED.tst2012.de-en.en) set -- "$@" 16ea6839ca5fd7ea7c49e589df40b62fd889618eb0ca93a964eb61e653bd5d19 ;;
                train-combined.de) set -- "$@" 96762ba0806c037f8f7bc3710f26eaa5526842feaa83a3a32bc15d1cba5402f6 ;;
                train-combined.en) set -- "$@" 2f1c73406907147f99f015908c564608d2e2da53613104aede6b2da10eec998f ;;
                *) printf '%s: no checksum is known, only line counts are checked\n' "$name.$language" ;;
            esac
            if (($# > 3)); then
                verify sha256 "$from/$name.$language" "$name.$language" "$4"
                set -- "$1" "$2" "$3"
            fi
            unescape <"$from/$name.$language" >"$results/$target.$language"
        done
    done
}

iwslt14() {
    local archive=$work/de-en.tgz target
    if [[ -n $from && -f $from/train-combined.de ]]; then
        iwslt14_plain train-combined IWSLT14.TED.dev2010.de-en IWSLT14.TED.tst2012.de-en
    elif [[ -n $from && -f $from/train.de ]]; then
        iwslt14_plain train valid test # what prepare-iwslt14.sh has written
    elif [[ -n $from && -f $from/train.tags.de-en.de ]]; then
        iwslt14_archive "$from"
    else
        if [[ -n $from ]]; then
            archive=$(first_existing de-en.tgz) ||
                fail "$from has none of de-en.tgz, train.tags.de-en.de, train.de, train-combined.de"
        else
            fetch https://dl.fbaipublicfiles.com/fairseq/data/iwslt14/de-en.tgz "$archive"
        fi
        verify md5 "$archive" de-en.tgz 10936dfdf616504ddbd844e91b94ef4a
        tar -xzf "$archive" -C "$work" || fail "de-en.tgz is not a whole archive"
        iwslt14_archive "$work/de-en"
    fi
    for target in train valid test; do
        same_length "$results/$target.de" "$results/$target.en"
        two_columns "$results/$target.de" "$results/$target.en" >"$results/$target.tsv"
    done
}

from='' mirror='' newest=0 accept_changed=0 arguments=()
while (($#)); do
    case $1 in
        --help | -h) usage && exit 0 ;;
        --from | --mirror)
            (($# > 1)) || misuse "$1 needs a value"
            if [[ $1 == --from ]]; then from=$2; else mirror=$2; fi
            shift
            ;;
        --newest) newest=1 ;;
        --accept-changed) accept_changed=1 ;;
        -*) misuse "unknown option $1" ;;
        *) arguments+=("$1") ;;
    esac
    shift
done
((${#arguments[@]} == 1 || ${#arguments[@]} == 2)) || misuse "give NAME and, if wanted, DESTINATION"
name=${arguments[0]}
destination=${arguments[1]:-$root/datasets/public/$name}
[[ -z $from || -d $from ]] || fail "the folder $from does not exist"
[[ -n $from ]] || need curl

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
results=$work/results
mkdir "$results"

case $name in
    tatoeba-fra)
        url=http://d2l-data.s3-accelerate.amazonaws.com/fra-eng.zip
        if ((newest)); then url=https://www.manythings.org/anki/fra-eng.zip; fi
        tatoeba "$url" fra.txt "fra.txt" 0bb85dbaa1c896844649094d7eaf2e34bee34e84fe362b26ce7e8f2e12aae104
        ;;
    tatoeba-cmn)
        tatoeba https://www.manythings.org/anki/cmn-eng.zip cmn.txt "cmn.txt cmn-2019.txt cmn-2020-three-columns.txt" \
            f81798986021a75cbbcdd7521e627d87031e1b74e5601cfb3604cf1637ac62dd \
            ae09b4f80d527a5b01413dfc997b42fc39338f909180e95e50c2d8da00c4355e
        ;;
    multi30k) multi30k ;;
    iwslt14) iwslt14 ;;
    *) misuse "unknown corpus '$name'; known are tatoeba-fra, tatoeba-cmn, multi30k, iwslt14" ;;
esac
install_results
