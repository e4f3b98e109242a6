"""The grammar of the small world: builds an English sentence and its French translation together."""

from dataclasses import dataclass

from lexicon import ADJECTIVES, GOALS, NOUNS, NUMBERS, PLACES, VERBS, Adjective, Noun

_VOWELS = "aàâeéèêiîoôuûœh"  # every h of this lexicon is mute
_NOT_ELIDED = ("huit", "onze")
_PRONOUNS = {("m", False): "il", ("f", False): "elle", ("m", True): "ils", ("f", True): "elles"}


class Dice:
    """Random choices drawn only from Random.random(), whose sequence Python promises to keep."""

    def __init__(self, random):
        self._random = random

    def chance(self, probability):
        return self._random.random() < probability

    def pick(self, items):
        return items[int(self._random.random() * len(items))]

    def weighted(self, table):
        position = self._random.random() * sum(weight for _, weight in table)
        for item, weight in table:
            position -= weight
            if position < 0:
                return item
        return table[-1][0]

    def shuffle(self, items):
        for last in range(len(items) - 1, 0, -1):
            other = int(self._random.random() * (last + 1))
            items[last], items[other] = items[other], items[last]


@dataclass(frozen=True)
class Phrase:
    """Words of both languages; `negated` is the French after "pas", where un, une and des become de."""

    english: tuple
    french: tuple
    negated: tuple = ()
    gender: str = "m"
    plural: bool = False
    first_person: bool = False
    noun: Noun = None


def starts_with_vowel(word):
    return word[0] in _VOWELS and word not in _NOT_ELIDED


def agree(adjective: Adjective, gender, plural, next_word=""):
    """The French form of an adjective; next_word is the noun when the adjective stands before it."""
    if gender == "f":
        return adjective.feminine_plural if plural else adjective.feminine
    if plural:
        return adjective.masculine_plural
    if adjective.masculine_before_vowel and next_word and starts_with_vowel(next_word):
        return adjective.masculine_before_vowel
    return adjective.masculine


def contract(preposition, french):
    """à or de before a noun phrase: au, aux, du, des."""
    elided = len(french) > 1 and starts_with_vowel(french[1])
    contracted = {("à", "le"): "au", ("à", "les"): "aux", ("de", "le"): "du", ("de", "les"): "des"}
    if (preposition, french[0]) in contracted and not (french[0] == "le" and elided):
        return (contracted[preposition, french[0]],) + french[1:]
    return (preposition,) + french


def determiners(noun: Noun, plural):
    """(kind, weight) of the determiners that go with a noun."""
    if noun.kind == "kin":
        return (("my", 8), ("my number", 1)) if plural else (("my", 1),)
    possessive = 0 if noun.kind == "person" else 2
    if plural:
        return (("the", 5), ("my", possessive), ("number", 4), ("the number", 1), ("some", 2))
    return (("the", 6), ("my", possessive), ("a", 4), ("one", 0.4))


def noun_phrase(dice: Dice, noun: Noun, plural=None, kinds=None, decorate=0.45):
    """A noun with a determiner (one of `kinds`, if given) and up to two adjectives, one on each side in French."""
    if plural is None:
        plural = bool(noun.english_plural) and dice.chance(0.4)
    table = [entry for entry in determiners(noun, plural) if kinds is None or entry[0] in kinds]
    kind = dice.weighted(table or [("the", 1)])
    chosen = []
    if dice.chance(decorate):
        before = [a for a in noun.adjectives if ADJECTIVES[a].before_noun]
        after = [a for a in noun.adjectives if not ADJECTIVES[a].before_noun]
        chosen = [dice.pick(noun.adjectives)]
        if chosen[0] in before and after and dice.chance(0.3):
            chosen.append(dice.pick(after))
    french_noun = noun.french_plural if plural else noun.french
    forms = [(ADJECTIVES[a], agree(ADJECTIVES[a], noun.gender, plural, french_noun)) for a in chosen]
    before = tuple(form for adjective, form in forms if adjective.before_noun)
    after = tuple(form for adjective, form in forms if not adjective.before_noun)
    core = before + (french_noun,) + after
    english = tuple(chosen) + (noun.english_plural if plural else noun.english,)
    english_start, french_start = determiner(dice, kind, noun, plural, english[0], core[0], bool(before))
    negated = ("de",) if kind in ("a", "some") else french_start
    return Phrase(english_start + english, french_start + core, negated + core, noun.gender, plural, noun=noun)


def determiner(dice, kind, noun, plural, english_next, french_next, adjective_first):
    """English and French words of a determiner in front of the given next words."""
    feminine = noun.gender == "f"
    number = dice.pick(list(NUMBERS)) if "number" in kind else ""
    numeral = (NUMBERS[number],) if number else ()
    if kind.startswith("the"):
        article = "les" if plural else "la" if feminine else "le"
        return ("the",) + ((number,) if number else ()), (article,) + numeral
    if kind.startswith("my"):
        article = "mes" if plural else "ma" if feminine and not starts_with_vowel(french_next) else "mon"
        return ("my",) + ((number,) if number else ()), (article,) + numeral
    if kind == "number":
        return (number,), numeral
    if kind == "some":
        return ("some",), ("de" if adjective_first else "des",)
    article = "une" if feminine else "un"
    if kind == "one":
        return ("one",), (article,)
    return ("an" if english_next[0] in "aeiou" else "a",), (article,)


def pronoun(gender, plural):
    english = "they" if plural else "she" if gender == "f" else "he"
    return Phrase((english,), (_PRONOUNS[gender, plural],), gender=gender, plural=plural)


I = Phrase(("I",), ("je",), first_person=True)


def both(first: Phrase, second: Phrase):
    """first and second: plural, and masculine unless both are feminine."""
    gender = "f" if first.gender == second.gender == "f" else "m"
    return Phrase(first.english + ("and",) + second.english, first.french + ("et",) + second.french,
                  gender=gender, plural=True)  # fmt: skip


def subject(dice: Dice, kinds, pronouns=True, definite=False, plural=None):
    """A subject of one of the kinds: a pronoun, a noun phrase or two joined by "and"."""
    persons = "person" in kinds
    if pronouns and persons and dice.chance(0.25):
        return dice.pick((I, pronoun("m", False), pronoun("f", False)))
    nouns = [noun for noun in NOUNS.values() if noun.kind in kinds]
    allowed = ("the", "my") if definite else ("the", "my", "a", "number", "the number", "my number", "one")
    first = noun_phrase(dice, dice.pick(nouns), plural, allowed, 0.35)
    if plural is None and persons and dice.chance(0.1):
        others = [noun for noun in nouns if noun is not first.noun]
        second = noun_phrase(dice, dice.pick(others), None, ("the", "my"), 0.2)
        if first.english[0] == second.english[0]:
            return both(first, second)
    return first


def place(dice: Dice):
    """Where: in the garden, près de l'école."""
    english, french, nouns = dice.pick(PLACES)
    where = noun_phrase(dice, NOUNS[dice.pick(nouns)], False, ("the", "my", "a"), 0.25)
    words = contract("de", where.french) if french == "près de" else (french,) + where.french
    words = ("près",) + words if french == "près de" else words
    return Phrase((english,) + where.english, words, words)


def goal(dice: Dice, noun: Noun, kinds, plural=None):
    """To whom or where to: au garçon, à l'école."""
    whom = noun_phrase(dice, noun, plural, kinds, 0.25)
    words = contract("à", whom.french)
    return Phrase(("to",) + whom.english, words, words)


def after_denial(rest: Phrase):
    """The same complement after a negation: some becomes any; un, une and des become de."""
    english = tuple("any" if word == "some" else word for word in rest.english)
    return Phrase(english, rest.negated, rest.negated)


def complement(dice: Dice, verb, with_object=True, place_chance=0.25, object_kinds=None, plural_object=None):
    """What follows the verb: object, receiver, place."""
    parts = []
    if with_object and verb.objects:
        noun = NOUNS[dice.pick(verb.objects)]
        parts.append(noun_phrase(dice, noun, plural_object if noun.english_plural else False, object_kinds))
    if verb.base == "give" and with_object:
        people = [noun for noun in NOUNS.values() if noun.kind in ("person", "kin")]
        parts.append(goal(dice, dice.pick(people), ("the", "my", "a")))
    elif dice.chance(place_chance if verb.objects else place_chance + 0.25):
        parts.append(place(dice))
    return Phrase(sum((part.english for part in parts), ()), sum((part.french for part in parts), ()),
                  sum((part.negated for part in parts), ()))  # fmt: skip


@dataclass(frozen=True)
class Predicate:
    """A verb phrase before it meets its subject."""

    verb: object
    tense: str  # present, past, future or want
    denial: str = ""  # "", not or never
    adverb: str = ""  # "", often or always


def predicate(dice: Dice, verb, statement=True, tenses=None):
    tense = dice.weighted(tenses or (("present", 5), ("past", 3), ("future", 2), ("want", 1.5)))
    if verb.base == "like" and tense in ("future", "want"):
        tense = "present"
    if not statement:
        return Predicate(verb, tense)
    denial = dice.weighted((("", 7), ("not", 3), ("never", 0.6)))
    if denial == "never" and tense not in ("present", "past"):
        denial = "not"
    if tense == "past" and not verb.past and denial != "not":
        tense = "present"
    adverb = dice.pick(("often", "always")) if tense == "present" and not denial and dice.chance(0.2) else ""
    return Predicate(verb, tense, denial, adverb)


def _third(who: Phrase):
    return not who.plural and not who.first_person


def _be(who: Phrase):
    return "am" if who.first_person else "are" if who.plural else "is"


def english_clause(who: Phrase, what: Predicate):
    verb, third = what.verb, _third(who)
    do = "did" if what.tense == "past" else "does" if third else "do"
    tail = {"future": (), "want": ("want", "to", verb.base)}.get(what.tense, (verb.base,))
    if what.tense == "future":
        denial = ("not",) if what.denial else ()
        return who.english + (_be(who),) + denial + ("going", "to", verb.base)
    if what.denial == "not":
        return who.english + (do, "not") + tail
    if what.tense == "want":
        return who.english + ("wants" if third else "want", "to", verb.base)
    form = verb.past if what.tense == "past" else verb.third if third else verb.base
    adverb = tuple(word for word in (what.adverb, what.denial) if word)
    return who.english + adverb + (form,)


def english_question(who: Phrase, what: Predicate):
    """Auxiliary, subject and infinitive."""
    if what.tense == "future":
        return (_be(who),) + who.english + ("going", "to", what.verb.base)
    do = "did" if what.tense == "past" else "does" if _third(who) else "do"
    tail = ("want", "to", what.verb.base) if what.tense == "want" else (what.verb.base,)
    return (do,) + who.english + tail


def french_clause(who: Phrase, what: Predicate):
    """Subject and verb with the negation around the conjugated part."""
    verb = what.verb
    person = 0 if who.first_person else 2 if who.plural else 1
    conjugated, rest = {
        "present": ((verb.je, verb.il, verb.ils), ()),
        "past": (("ai", "a", "ont"), (verb.participle,)),
        "future": (("vais", "va", "vont"), (verb.infinitive,)),
        "want": (("veux", "veut", "veulent"), (verb.infinitive,)),
    }[what.tense]
    before = ("ne",) if what.denial else ()
    after = {"": (), "not": ("pas",), "never": ("jamais",), "often": ("souvent",), "always": ("toujours",)}
    return who.french + before + (conjugated[person],) + after[what.denial or what.adverb] + rest


def clause(dice: Dice, who=None, definite=False, place_chance=0.25, tenses=None):
    """A whole statement without its full stop, and its subject."""
    if dice.chance(0.08):
        return going(dice, who)
    verb = dice.pick(list(VERBS.values()))
    if who is None:
        who = subject(dice, verb.subjects, definite=definite)
    what = predicate(dice, verb, tenses=tenses)
    rest = complement(dice, verb, place_chance=place_chance)
    rest = after_denial(rest) if what.denial else rest
    return Phrase(english_clause(who, what) + rest.english, french_clause(who, what) + rest.french), who


def going(dice: Dice, who=None):
    """go to a place, present tense."""
    who = who or subject(dice, ("person", "kin", "animal"))
    denial = dice.chance(0.3)
    where = goal(dice, NOUNS[dice.pick(GOALS)], ("the", "my"), False)
    verb = "vais" if who.first_person else "vont" if who.plural else "va"
    do = ("does" if _third(who) else "do", "not", "go") if denial else ("goes" if _third(who) else "go",)
    middle = ("ne", verb, "pas") if denial else (verb,)
    return Phrase(who.english + do + where.english, who.french + middle + where.french), who


def description(dice: Dice, who=None, moods=False):
    """Somebody or something is happy, red, old ...; `moods` allows happy and tired only."""
    if who is None:
        nouns = [noun for noun in NOUNS.values() if noun.kind != "place"]
        who = noun_phrase(dice, dice.pick(nouns), None, ("the", "my", "the number"), 0.15)
        if dice.chance(0.15):
            who = subject(dice, ("person", "kin"), definite=True)
    if who.first_person:
        who = pronoun(dice.pick("mf"), False)
    names = who.noun.adjectives if who.noun and not moods else ("happy", "tired")
    adjective = ADJECTIVES[dice.pick([name for name in names if name not in who.english] or names)]
    form = agree(adjective, who.gender, who.plural)
    denial = dice.chance(0.3)
    be = "sont" if who.plural else "est"
    middle = ("ne", be, "pas") if denial else (be,)
    english = who.english + (_be(who),) + (("not",) if denial else ()) + (adjective.english,)
    return Phrase(english, who.french + middle + (form,)), who
