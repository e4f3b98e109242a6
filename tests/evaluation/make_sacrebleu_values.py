#!/usr/bin/env python3
"""Makes sacrebleu_values.json, what sacrebleu says of small corpora made from datasets/.

    python3 -m venv venv && venv/bin/pip install sacrebleu==2.6.0 numpy==2.4.6
    venv/bin/python tests/evaluation/make_sacrebleu_values.py

The hypotheses are references with words dropped, swapped, repeated, replaced and moved, drawn with a fixed seed.
Confidence intervals depend on numpy: from version 2 on, sacrebleu computes the scores of bootstrap samples in
single precision.
"""

import json
import pathlib
import platform
import random

import numpy
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest
from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BLEU_TOKENIZERS = ["13a", "intl", "char", "zh", "none"]
TER_OPTIONS = [
    dict(normalized=bool(n), no_punct=bool(p), asian_support=bool(a), case_sensitive=bool(c))
    for n, p, a, c in [(0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (1, 1, 0, 1), (1, 0, 1, 0), (0, 1, 1, 0),
                       (1, 1, 1, 0), (0, 0, 0, 1)]
]
CHRF_OPTIONS = [dict(), dict(word_order=2), dict(lowercase=True), dict(word_order=2, lowercase=True),
                dict(whitespace=True), dict(char_order=4, word_order=1, beta=3)]
BLEU_OPTIONS = [dict(tokenize=t) for t in BLEU_TOKENIZERS] + [
    dict(tokenize=t, lowercase=True) for t in ("13a", "intl", "zh")
] + [
    dict(smooth_method="floor"), dict(smooth_method="floor", smooth_value=0.3), dict(smooth_method="add-k"),
    dict(smooth_method="add-k", smooth_value=0.25), dict(smooth_method="none"), dict(effective_order=True),
    dict(effective_order=True, smooth_method="none"), dict(effective_order=True, smooth_method="add-k"),
]

EDGE_CASES = [  # hypothesis, references
    ("", ["Va."]),
    ("Va.", [""]),
    ("", [""]),
    ("Nous savons.", ["Nous savons."]),
    ("NOUS SAVONS !", ["Nous savons."]),
    ("le le le le le le", ["le chat le chien"]),
    ("Le chat.", ["Le chat mange la pomme rouge ."]),
    ("  Le   chat\tmange\u00a0 la pomme  ", ["Le chat mange la pomme"]),
    ("Les 1,234.5 pommes, 3.5 ou 7.", ["Les 1,234.5 pommes, 3.5 ou 7 ."]),
    ("1990-95: (le chat) [le chien] {la fille} 50% @ 3€/kg...", ["1990 - 95 : le chat, le chien; la fille 50 % à 3 €"]),
    ("&quot;Le chat&quot; &amp; &lt;le chien&gt; &amp;lt;", ["\"Le chat\" & <le chien> <"]),
    ("<skipped>Le chat<skip<skipped>ped>", ["Le chat"]),
    ("l'école d'été, qu'elle n'a pas", ["l' école d' été , qu' elle n' a pas"]),
    ("The cat's fish isn't John's.", ["The cat 's fish is n't John 's ."]),
    ("\u00abLe chat\u00bb \u2014 \u201cle chien\u201d\u2026 \u2019", ["\" Le chat \" - ' le chien ' ..."]),
    ("x² + y³ = ½ ≤ ∑ ™ © $5 £6 +7 −8", ["x2 + y3 = 1/2 <= ∑"]),
    ("٣٫٥ و ١٬٢٣٤، ३.५ ५।", ["٣٫٥ و ١٬٢٣٤ ، ३.५ ५ ।"]),
    ("猫吃鱼。狗吃肉！", ["猫吃鱼,狗吃肉!"]),
    ("我 有3只cat，(猫)。", ["我有 3 只猫，cat。"]),
    ("「猫」は魚、ネコ・イヌ㈱㌔﨎〇", ["猫は 魚、 ネコ・イヌ"]),
    ("ｈｅｌｌｏ．Ｗ，？：；！＂（）", ["hello . w , ? : ; ! \" ( )"]),
    ("İstanbul ΟΔΟΣ ΣΑΣ Straße ẞ", ["istanbul οδος σας strasse ß"]),
    ("a\u2028b\u0085c\u001cd e\u3000f", ["a b c d e f"]),
    ("👍🏽 le chat 😀😀", ["👍 le chat 😀"]),
    (". , . .. ,, - -- 3- 3-. .3 ,3, 3,a a.3", ["., . .. ,, - -- 3 - 3 -. .3 ,3, 3, a a.3"]),
    ("e\u0301te\u0301", ["été"]),
    ("a", ["a"]),
    ("?", ["!"]),
    ("chat", ["un chat rouge et un chien"]),
]


def lines(path, column=None):
    text = (ROOT / "datasets" / path).read_text(encoding="utf-8").splitlines()
    return text if column is None else [line.split("\t")[column] for line in text]


def perturbed(sentence, rate, vocabulary, rng, joint=" "):
    words = sentence.split(joint) if joint else list(sentence)
    changed = []
    for word in words:
        dice = rng.random() / rate
        if dice < 0.2:
            continue
        if dice < 0.35:
            changed.append(rng.choice(vocabulary))
        elif dice < 0.45:
            changed += [word, word]
        elif dice < 0.55:
            changed.append(word.upper())
        else:
            changed.append(word)
    if len(changed) > 3 and rng.random() < rate:
        begin = rng.randrange(len(changed) - 1)
        phrase = changed[begin:begin + rng.randint(1, 4)]
        del changed[begin:begin + len(phrase)]
        at = rng.randint(0, len(changed))
        changed[at:at] = phrase
    return joint.join(changed)


def corpus(name, references, rng, joint=" ", rates=(0.3, 0.5)):
    vocabulary = [word for line in references for word in (line.split(joint) if joint else line)]
    system, baseline = ([perturbed(line, rate, vocabulary, rng, joint) for line in references] for rate in rates)
    return dict(name=name, hypotheses=system, baseline=baseline, references=[[line] for line in references])


def random_text(rng):
    alphabet = ("abcXYZéß .,.,--'!?;:()[]{}<>&%$#@*+=~^`|\\/\"_0123456789 \t" "\u00a0\u2003\u3000«»“”‘’„–—…·¿¡§¶†‰€£¥©®°±×÷²³¼½"
                "٠١٢٣،؛؟०१।猫鱼吃あいアイ。、「」・！？，．：（）ｱ㈱㌔①Ⅷ‖⁇♥♪✓→∀∞≠⊕中文。")
    return "".join(rng.choice(alphabet) for _ in range(rng.randint(1, 40)))


def corpora():
    rng = random.Random(20)
    french, english = lines("small-world/test.tsv", 1), lines("small-world/test.tsv", 0)
    phrases, chinese = lines("phrasebook/phrases.tsv", 1), lines("chinese-english/pairs.tsv", 1)
    made = [corpus("French, small world", french[:40], rng),
            corpus("English phrases", lines("phrasebook/phrases.tsv", 0)[::30], rng),
            corpus("Chinese", chinese[:40], rng, joint="")]

    several = corpus("English with three references", english[40:60], rng)
    words = " ".join(english).split()
    for references in several["references"]:
        references += [perturbed(references[0], 0.3, words, rng), perturbed(references[0], 0.6, words, rng)]
    varying = corpus("French with varying references", phrases[100:112], rng)
    for number, references in enumerate(varying["references"]):
        references += [perturbed(references[0], 0.4, phrases, rng) for _ in range(number % 3)]

    edges = dict(name="edge cases", hypotheses=[hypothesis for hypothesis, _ in EDGE_CASES],
                 baseline=[hypothesis.lower()[::-1] for hypothesis, _ in EDGE_CASES],
                 references=[references for _, references in EDGE_CASES])
    noise = [random_text(rng) for _ in range(25)]
    random_corpus = dict(name="random characters", hypotheses=[perturbed(t, 0.3, noise[0], rng, "") for t in noise],
                         baseline=[perturbed(t, 0.5, noise[0], rng, "") for t in noise], references=[[t] for t in noise])

    def joined(begin, count):
        return " ".join(french[begin:begin + count]).split()

    def shuffled(sentences):
        mixed = sentences[:]
        rng.shuffle(mixed)
        return " ".join(mixed)
    long = joined(60, 12)
    far = joined(80, 8)
    pairs = [(shuffled(french[60:72]), " ".join(long)),              # long phrases moved: the limit on shifts
             (" ".join(far[60:] + far[:60]), " ".join(far)),         # farther than phrases may move
             (" ".join(far[11:] + far[:11]), " ".join(far)),         # longer than phrases may be
             ("le chat", " ".join(joined(90, 14))),                  # so short that the band must widen
             (" ".join(joined(90, 14)), "le chat"),
             (" ".join(reversed(far)), " ".join(far)),
             ("le " * 40 + "chat", "chat " + "le " * 30)]
    shifts = dict(name="long shifts", hypotheses=[hypothesis for hypothesis, _ in pairs],
                  baseline=[perturbed(reference, 0.5, far, rng) for _, reference in pairs],
                  references=[[reference] for _, reference in pairs])
    nothing = dict(name="no match", hypotheses=["zzz"] * 3, baseline=["le chat"] * 3, references=[["le chat mange la pomme"]] * 3)
    one = dict(name="one segment", hypotheses=[french[7]], baseline=[french[8]], references=[[french[9]]])
    return made + [several, varying, edges, random_corpus, shifts, nothing, one]


def by_stream(references):
    """From [segments][references] to sacrebleu's [references][segments], None where one has fewer."""
    most = max(map(len, references))
    return [[refs[i] if i < len(refs) else None for refs in references] for i in range(most)]


METRICS = {"bleu": BLEU, "chrf": CHRF, "ter": TER}


def score(metric_name, options, corpus_of, samples=1):
    metric = METRICS[metric_name](**options)
    found = metric.corpus_score(corpus_of["hypotheses"], by_stream(corpus_of["references"]), n_bootstrap=samples)
    row = dict(corpus=corpus_of["name"], metric=metric_name, options=options, name=found.name,
               score=float(found.score), printed=found.format(score_only=True), verbose=found._verbose.strip(),
               signature=str(metric.get_signature()))
    if samples > 1:
        row |= dict(samples=samples, mean=float(found._mean), half_width=float(found._ci))
    return row


def paired(metric_name, options, corpus_of, samples):
    metric = METRICS[metric_name](**options)
    systems = [("baseline", corpus_of["baseline"]), ("system", corpus_of["hypotheses"])]
    signatures, scores = PairedTest(systems, {metric_name: metric}, by_stream(corpus_of["references"]),
                                    test_type="bs", n_samples=samples)()
    (name, (baseline, system)), = [(key, value) for key, value in scores.items() if key != "System"]
    rows = [dict(score=float(r.score), mean=float(r.mean), half_width=float(r.ci)) for r in (baseline, system)]
    return dict(corpus=corpus_of["name"], metric=metric_name, options=options, name=name, samples=samples,
                baseline=rows[0], system=rows[1], p_value=float(system.p_value), signature=str(signatures[name]))


def main():
    made = corpora()
    texts = [hypothesis for hypothesis, _ in EDGE_CASES] + next(
        c["hypotheses"] for c in made if c["name"] == "random characters")
    tokens = [dict(text=text,
                   bleu={name: BLEU(tokenize=name)._preprocess_segment(text).split() for name in BLEU_TOKENIZERS},
                   ter=[TercomTokenizer(**options)(text.rstrip()).split() for options in TER_OPTIONS])
              for text in texts]
    everything = [("bleu", o) for o in BLEU_OPTIONS] + [("chrf", o) for o in CHRF_OPTIONS] + [("ter", o) for o in TER_OPTIONS]
    few = [("bleu", {}), ("bleu", dict(smooth_method="add-k", smooth_value=0.25)), ("chrf", {}),
           ("chrf", dict(word_order=2)), ("ter", {})]
    values = dict(
        made_with=dict(sacrebleu=sacrebleu.__version__, numpy=numpy.__version__, python=platform.python_version()),
        corpora=made, ter_options=TER_OPTIONS, tokens=tokens,
        scores=[score(name, options, c) for c in made for name, options in everything],
        confidence=[score(name, options, c, samples) for c in made for name, options in few
                    for samples in (1000, 79) if c["name"] not in ("no match", "edge cases")],
        paired=[paired(name, options, c, samples) for c in made for name, options in few for samples in (1000, 79)])
    path = pathlib.Path(__file__).with_name("sacrebleu_values.json")
    text = json.dumps(values, ensure_ascii=True, separators=(",", ":"))
    for section in ('"corpora":[', '"scores":[', '"confidence":[', '"paired":[', '"tokens":['):
        text = text.replace(section, section + "\n")
    path.write_text(text.replace("},{", "},\n{").replace("]},", "]},\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
