#!/usr/bin/env python3
"""Writes the small-world English-French corpus: train, valid and test, the same bytes on every run.

  generate.py            writes the files beside this program and prints their statistics
  generate.py --check    compares the files with what would be written; exit status 1 if they differ
  generate.py --show 60  prints that many random pairs of the training set
"""

import argparse
import collections
import random
import sys
from pathlib import Path

from grammar import (
    Dice, Phrase, after_denial, clause, complement, description, english_clause, english_question, french_clause, going,
    noun_phrase, place, predicate, pronoun, starts_with_vowel, subject,
)  # fmt: skip
from lexicon import NOUNS, VERBS

SEED = 20260
SIZES = (("train", 8000), ("valid", 500), ("test", 500))
SHORTEST, LONGEST = 3, 16  # English words of a sentence, without punctuation
FEWEST = 25  # occurrences in train of every word of valid and test
SPARE = 1.25  # candidates for each pair kept; those with a rare word go
_ELIDED = ("le", "la", "je", "ne", "de", "que")


# Sentences ---------------------------------------------------------------------------------------------------

def statement(dice):
    return clause(dice)[0], "."


def describing(dice):
    return description(dice)[0], "."


def yes_no_question(dice):
    verb = dice.pick(list(VERBS.values()))
    who = questioned(dice, verb)
    what = predicate(dice, verb, statement=False)
    rest = complement(dice, verb)
    english = english_question(who, what) + rest.english
    return Phrase(english, ("est-ce", "que") + french_clause(who, what) + rest.french), "?"


def questioned(dice, verb):
    who = subject(dice, verb.subjects, definite=True)
    return pronoun(dice.pick("mf"), False) if who.first_person else who


def where_why_question(dice):
    word, french = dice.pick((("where", "où"), ("why", "pourquoi")))
    verb = dice.pick(list(VERBS.values()))
    who = questioned(dice, verb)
    what = predicate(dice, verb, statement=False)
    rest = complement(dice, verb, place_chance=-1 if word == "where" else 0.2, object_kinds=("the", "my"))
    english = (word,) + english_question(who, what) + rest.english
    return Phrase(english, (french, "est-ce", "que") + french_clause(who, what) + rest.french), "?"


def what_question(dice):
    verb = dice.pick([verb for verb in VERBS.values() if verb.objects and verb.base != "give"])
    who = questioned(dice, verb)
    what = predicate(dice, verb, statement=False)
    rest = place(dice) if dice.chance(0.5) else Phrase((), ())
    english = ("what",) + english_question(who, what) + rest.english
    return Phrase(english, ("qu'est-ce", "que") + french_clause(who, what) + rest.french), "?"


def how_many_question(dice):
    # No past: its participle would agree with the object in front of it.
    verb = dice.pick([verb for verb in VERBS.values() if verb.objects and verb.base != "give"])
    noun = dice.pick([NOUNS[name] for name in verb.objects if NOUNS[name].english_plural])
    who = questioned(dice, verb)
    what = predicate(dice, verb, False, (("present", 3), ("future", 1), ("want", 1)))
    rest = place(dice) if dice.chance(0.4) else Phrase((), ())
    english = ("how", "many", noun.english_plural) + english_question(who, what) + rest.english
    french = ("combien", "de", noun.french_plural, "est-ce", "que") + french_clause(who, what) + rest.french
    return Phrase(english, french), "?"


def joined(dice):
    word, french = dice.pick((("and", "et"), ("but", "mais")))
    first = clause(dice, place_chance=0.1)[0] if dice.chance(0.8) else description(dice)[0]
    second = clause(dice, place_chance=0.1)[0] if dice.chance(0.7) else description(dice)[0]
    return Phrase(first.english + (word,) + second.english, first.french + (french,) + second.french), "."


def reason(dice):
    """The girls are happy because they ...: the pronoun takes its gender from the first subject."""
    who = subject(dice, ("person", "kin"), pronouns=False, plural=dice.weighted(((True, 3), (False, 1), (None, 1))))
    first = description(dice, who, moods=True)[0]
    second = clause(dice, pronoun(who.gender, who.plural))[0]
    return Phrase(first.english + ("because",) + second.english, first.french + ("parce", "que") + second.french), "."


def circumstance(dice):
    """When the girls sing, they ... or when he works, the dog ..."""
    verb = dice.pick([VERBS[name] for name in ("sing", "dance", "work", "sleep", "eat", "read")])
    plural = dice.weighted(((True, 2), (None, 1)))
    who = subject(dice, ("person", "kin"), pronouns=plural is None, definite=True, plural=plural)
    what = predicate(dice, verb, False, (("present", 1),))
    rest = complement(dice, verb, object_kinds=("the", "my", "a"), plural_object=False, place_chance=0.1)
    same = not who.first_person and dice.chance(0.6)
    next_who = pronoun(who.gender, who.plural) if same else None
    if dice.chance(0.3):
        second = description(dice, next_who, moods=next_who is not None)[0]
    else:
        second = clause(dice, next_who, tenses=(("present", 1),), place_chance=0.1)[0]
    english = ("when",) + english_clause(who, what) + rest.english + (",",) + second.english
    return Phrase(english, ("quand",) + french_clause(who, what) + rest.french + (",",) + second.french), "."


def relative_subject(dice):
    """The man who sees the dog eats an apple."""
    noun = dice.pick([noun for noun in NOUNS.values() if noun.kind in ("person", "kin", "animal")])
    who = noun_phrase(dice, noun, None, ("the", "my", "a", "number"), 0.25)
    outer, inner = (dice.pick([v for v in VERBS.values() if noun.kind in v.subjects]) for _ in range(2))
    link = "that" if noun.kind == "animal" else "who"
    first = predicate(dice, inner, True, (("present", 1),))
    rest = complement(dice, inner, place_chance=0.05, object_kinds=("the", "my", "number"))
    bare = Phrase((), (), gender=who.gender, plural=who.plural)
    rest = after_denial(rest) if first.denial else rest
    middle = (link,) + english_clause(bare, first) + rest.english
    french_middle = ("qui",) + french_clause(bare, first) + rest.french
    long_subject = Phrase(who.english + middle, who.french + french_middle, gender=who.gender, plural=who.plural)
    if dice.chance(0.35):
        return description(dice, long_subject, moods=True)[0], "."
    second = predicate(dice, outer)
    tail = complement(dice, outer, place_chance=0.05)
    tail = after_denial(tail) if second.denial else tail
    english = english_clause(long_subject, second) + tail.english
    return Phrase(english, french_clause(long_subject, second) + tail.french), "."


def relative_object(dice):
    """The boy finds the book that the girl reads."""
    verb = dice.pick([verb for verb in VERBS.values() if verb.objects and verb.base != "give"])
    inner = dice.pick([v for v in VERBS.values() if v.objects and v.base not in (verb.base, "give")])
    shared = [name for name in verb.objects if name in inner.objects and NOUNS[name].kind in ("thing", "animal")]
    if not shared:
        return relative_object(dice)
    who = subject(dice, verb.subjects)
    what = predicate(dice, verb)
    thing = noun_phrase(dice, NOUNS[dice.pick(shared)], None, ("the", "number", "the number"), 0.3)
    other = subject(dice, inner.subjects, definite=True)
    action = predicate(dice, inner, False, (("present", 4), ("future", 1), ("want", 1)))
    english = english_clause(who, what) + thing.english + ("that",) + english_clause(other, action)
    french = french_clause(who, what) + thing.french + ("que",) + french_clause(other, action)
    return Phrase(english, french), "."


def movement(dice):
    return going(dice)[0], "."


TEMPLATES = (
    (statement, 24), (describing, 5), (movement, 2), (yes_no_question, 8), (where_why_question, 5),
    (what_question, 3), (how_many_question, 5), (joined, 20), (reason, 8), (circumstance, 8),
    (relative_subject, 9), (relative_object, 9),
)  # fmt: skip


# Writing -----------------------------------------------------------------------------------------------------

def spell(words, end, french):
    """Joins words into a sentence: elision, capital letter, punctuation."""
    text = ""
    for word, following in zip(words, words[1:] + ("",)):
        if french and word in _ELIDED and following and starts_with_vowel(following):
            text += word[:-1] + "'"
        else:
            text += word + ("" if following in ("", ",") else " ")
    gap = " " if french and end == "?" else ""
    return text[0].upper() + text[1:] + gap + end


def tokens(sentence):
    """The tokenizer of "Dive into Deep Learning": lower case, punctuation apart."""
    sentence = sentence.lower()
    spaced = "".join(
        " " + c if i and c in ",.!?" and sentence[i - 1] != " " else c for i, c in enumerate(sentence)
    )
    return spaced.split(" ")


def word_count(sentence):
    return sum(token not in ",.!?" for token in tokens(sentence))


def pairs(dice, count):
    """Distinct pairs: no English and no French sentence comes twice."""
    by_english, french_seen, result = {}, set(), []
    while len(result) < count:
        phrase, end = dice.weighted(TEMPLATES)(dice)
        english, french = spell(phrase.english, end, False), spell(phrase.french, end, True)
        if not SHORTEST <= word_count(english) <= LONGEST:
            continue
        if by_english.setdefault(english, french) != french:
            raise SystemExit(f"two translations of '{english}': '{by_english[english]}' and '{french}'")
        if french not in french_seen:
            french_seen.add(french)
            result.append((english, french))
    return result


def without_rare_words(candidates, count):
    """The first `count` candidates whose words occur often enough among the candidates."""
    frequencies = [collections.Counter(token for pair in candidates for token in tokens(pair[s])) for s in (0, 1)]
    enough = FEWEST * SPARE
    kept = [p for p in candidates if all(frequencies[s][word] >= 2 * enough for s in (0, 1) for word in tokens(p[s]))]
    if len(kept) < count:
        raise SystemExit(f"only {len(kept)} of {len(candidates)} candidates have no rare word; {count} are needed")
    return kept[:count]


def split(everything):
    """The last 1,000 pairs whose words are all frequent enough in the rest become valid and test."""
    held = sum(size for name, size in SIZES if name != "train")
    counts = [collections.Counter(token for pair in everything for token in tokens(pair[side])) for side in (0, 1)]
    train, others = [], []
    for pair in reversed(everything):
        used = [collections.Counter(tokens(pair[side])) for side in (0, 1)]
        frequent = all(counts[s][word] - used[s][word] >= FEWEST for s in (0, 1) for word in used[s])
        if len(others) < held and frequent:
            others.append(pair)
            for side in (0, 1):
                counts[side] -= used[side]
        else:
            train.append(pair)
    return {"train": train[::-1], "valid": others[: held // 2], "test": others[held // 2 :]}


def files(parts):
    content = {f"{name}.tsv": "".join(f"{e}\t{f}\n" for e, f in parts[name]) for name, _ in SIZES}
    content["test.en"] = "".join(f"{english}\n" for english, _ in parts["test"])
    content["test.fr"] = "".join(f"{french}\n" for _, french in parts["test"])
    return content


def check_parts(parts):
    """The promises of the corpus; raises SystemExit when one is broken."""
    for name, size in SIZES:
        if len(parts[name]) != size:
            raise SystemExit(f"{name} has {len(parts[name])} pairs, not {size}")
    for side, language in ((0, "English"), (1, "French")):
        sentences = [pair[side] for name, _ in SIZES for pair in parts[name]]
        if len(set(sentences)) != len(sentences):
            raise SystemExit(f"an {language} sentence comes twice")
        counts = collections.Counter(token for pair in parts["train"] for token in tokens(pair[side]))
        rare = {t for name in ("valid", "test") for pair in parts[name] for t in tokens(pair[side]) if counts[t] < FEWEST}
        if rare:
            raise SystemExit(f"{language} words of valid or test are rare in train: {sorted(rare)}")


def print_statistics(parts):
    for name, _ in SIZES:
        lengths = [word_count(english) for english, _ in parts[name]]
        longer = sum(length > 8 for length in lengths) / len(lengths)
        print(f"{name}: {len(lengths)} pairs, {sum(lengths) / len(lengths):.2f} English words a sentence, "
              f"{100 * longer:.1f} % longer than 8 words")  # fmt: skip
    histogram = collections.Counter(word_count(e) for name, _ in SIZES for e, _ in parts[name])
    print("English words: sentences  " + "  ".join(f"{k}: {histogram[k]}" for k in sorted(histogram)))
    for side, language in ((0, "English"), (1, "French")):
        counts = collections.Counter(token for pair in parts["train"] for token in tokens(pair[side]))
        rarest = sorted(counts.items(), key=lambda item: (item[1], item[0]))[:6]
        most = max(len(tokens(pair[side])) for name, _ in SIZES for pair in parts[name])
        print(f"{language}: {len(counts)} distinct tokens, longest sentence {most} tokens, rarest "
              + ", ".join(f"{word} {count}" for word, count in rarest))  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description="Writes the small-world English-French corpus.")
    parser.add_argument("--check", action="store_true", help="compare the files on disk, write nothing")
    parser.add_argument("--show", type=int, metavar="N", help="print N random training pairs, write nothing")
    parser.add_argument("--output", type=Path, default=Path(__file__).resolve().parent, help="folder to write to")
    arguments = parser.parse_args()
    count = sum(size for _, size in SIZES)
    candidates = pairs(Dice(random.Random(SEED)), int(SPARE * count))
    parts = split(without_rare_words(candidates, count))
    check_parts(parts)
    if arguments.show:
        for _ in range(arguments.show):
            print("\t".join(random.choice(parts["train"])))
        return 0
    status = 0
    for name, text in files(parts).items():
        path = arguments.output / name
        if not arguments.check:
            path.write_bytes(text.encode("utf-8"))
        elif not path.is_file() or path.read_bytes() != text.encode("utf-8"):
            print(f"{path} differs from what generate.py writes; run generate.py to renew it", file=sys.stderr)
            status = 1
    print_statistics(parts)
    return status


if __name__ == "__main__":
    sys.exit(main())
