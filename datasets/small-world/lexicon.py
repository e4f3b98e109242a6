"""The words of the small world: nouns, adjectives, verbs, numbers and which go together.

Every English form has one French form once its number, gender and neighbours are known;
words that would need the context of another sentence (you, it, the doctor) are left out.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Noun:
    """A noun with both numbers; an empty English plural means that it is used in the singular only."""

    english: str
    english_plural: str
    french: str
    french_plural: str
    gender: str  # "m" or "f"
    kind: str  # person, kin, animal, thing or place
    adjectives: tuple  # the adjectives that may describe it


@dataclass(frozen=True)
class Adjective:
    english: str
    masculine: str
    masculine_plural: str
    feminine: str
    feminine_plural: str
    before_noun: bool = False
    masculine_before_vowel: str = ""  # bel, vieil


@dataclass(frozen=True)
class Verb:
    """An English verb (base, third person, past) and its French forms (avoir in the past)."""

    base: str
    third: str
    past: str  # empty where it would look like the present
    je: str
    il: str
    ils: str
    participle: str
    infinitive: str
    subjects: tuple = ("person", "kin")
    objects: tuple = ()  # nouns; empty for an intransitive verb


def _noun(words, gender, kind, adjectives=""):
    english, english_plural, french, french_plural = words.split("/")
    return Noun(english, english_plural, french, french_plural, gender, kind, tuple(adjectives.split()))


NOUNS = {
    noun.english: noun
    for noun in (
        _noun("man/men/homme/hommes", "m", "person", "old happy tired small"),
        _noun("woman/women/femme/femmes", "f", "person", "old happy tired small beautiful"),
        _noun("boy/boys/garçon/garçons", "m", "person", "small happy tired big"),
        _noun("girl/girls/fille/filles", "f", "person", "small happy tired big beautiful"),
        _noun("queen/queens/reine/reines", "f", "person", "old happy tired beautiful"),
        _noun("brother/brothers/frère/frères", "m", "kin", "small big happy tired"),
        _noun("sister/sisters/sœur/sœurs", "f", "kin", "small big happy tired"),
        _noun("dog/dogs/chien/chiens", "m", "animal", "small big old beautiful black white tired happy"),
        _noun("cat/cats/chat/chats", "m", "animal", "small big old beautiful black white tired"),
        _noun("bird/birds/oiseau/oiseaux", "m", "animal", "small big old beautiful black white green red"),
        _noun("horse/horses/cheval/chevaux", "m", "animal", "small big old beautiful black white tired"),
        _noun("mouse/mice/souris/souris", "f", "animal", "small old beautiful black white"),
        _noun("fish//poisson/poissons", "m", "thing", "small big beautiful red black"),
        _noun("apple/apples/pomme/pommes", "f", "thing", "small beautiful red green"),
        _noun("cake/cakes/gâteau/gâteaux", "m", "thing", "small beautiful big white"),
        _noun("egg/eggs/œuf/œufs", "m", "thing", "small old white green"),
        _noun("book/books/livre/livres", "m", "thing", "small big old beautiful red green black white"),
        _noun("letter/letters/lettre/lettres", "f", "thing", "small old beautiful white"),
        _noun("hat/hats/chapeau/chapeaux", "m", "thing", "small big old beautiful red green black white"),
        _noun("flower/flowers/fleur/fleurs", "f", "thing", "small big beautiful red white"),
        _noun("car/cars/voiture/voitures", "f", "thing", "small big old beautiful red green black white"),
        _noun("table/tables/table/tables", "f", "thing", "small big old beautiful green black white"),
        _noun("tree/trees/arbre/arbres", "m", "thing", "small big old beautiful green"),
        _noun("house/houses/maison/maisons", "f", "thing", "small big old beautiful red green white"),
        _noun("garden//jardin/jardins", "m", "place", "small big old beautiful"),
        _noun("school//école/écoles", "f", "place", "small big old beautiful"),
        _noun("market//marché/marchés", "m", "place", "small big old"),
        _noun("kitchen//cuisine/cuisines", "f", "place", "small big old beautiful"),
        _noun("forest//forêt/forêts", "f", "place", "small big old beautiful"),
    )
}

ADJECTIVES = {
    adjective.english: adjective
    for adjective in (
        Adjective("small", "petit", "petits", "petite", "petites", True),
        Adjective("big", "grand", "grands", "grande", "grandes", True),
        Adjective("beautiful", "beau", "beaux", "belle", "belles", True, "bel"),
        Adjective("old", "vieux", "vieux", "vieille", "vieilles", True, "vieil"),
        Adjective("red", "rouge", "rouges", "rouge", "rouges"),
        Adjective("green", "vert", "verts", "verte", "vertes"),
        Adjective("black", "noir", "noirs", "noire", "noires"),
        Adjective("white", "blanc", "blancs", "blanche", "blanches"),
        Adjective("happy", "heureux", "heureux", "heureuse", "heureuses"),
        Adjective("tired", "fatigué", "fatigués", "fatiguée", "fatiguées"),
    )
}

NUMBERS = {
    "two": "deux", "three": "trois", "four": "quatre", "five": "cinq", "six": "six", "seven": "sept",
    "eight": "huit", "nine": "neuf", "ten": "dix", "eleven": "onze", "twelve": "douze",
}  # fmt: skip

_FOOD = ("apple", "cake", "egg", "fish")
_GOODS = ("apple", "cake", "egg", "book", "hat", "flower", "car", "table", "horse", "house")
_GIFTS = ("apple", "cake", "egg", "book", "letter", "hat", "flower", "cat")
_ANIMALS = ("dog", "cat", "bird", "horse", "mouse")
_PEOPLE = ("man", "woman", "boy", "girl", "queen", "brother", "sister")
_THINGS = ("book", "letter", "hat", "flower", "car", "table", "tree", "house", "apple", "egg", "fish", "cake")
_EVERYBODY = ("person", "kin", "animal")

VERBS = {
    verb.base: verb
    for verb in (
        Verb("eat", "eats", "ate", "mange", "mange", "mangent", "mangé", "manger", _EVERYBODY, _FOOD),
        Verb("see", "sees", "saw", "vois", "voit", "voient", "vu", "voir", _EVERYBODY,
             _ANIMALS + _ANIMALS + _PEOPLE + _THINGS),
        # The past "read" looks like the present, so only "did not read" is used.
        Verb("read", "reads", "", "lis", "lit", "lisent", "lu", "lire", objects=("book", "letter")),
        Verb("like", "likes", "liked", "aime", "aime", "aiment", "aimé", "aimer",
             objects=_ANIMALS + _PEOPLE + _THINGS),
        Verb("buy", "buys", "bought", "achète", "achète", "achètent", "acheté", "acheter", objects=_GOODS),
        Verb("sell", "sells", "sold", "vends", "vend", "vendent", "vendu", "vendre", objects=_GOODS),
        Verb("find", "finds", "found", "trouve", "trouve", "trouvent", "trouvé", "trouver", _EVERYBODY,
             _ANIMALS + _THINGS),
        Verb("give", "gives", "gave", "donne", "donne", "donnent", "donné", "donner", objects=_GIFTS),
        Verb("sing", "sings", "sang", "chante", "chante", "chantent", "chanté", "chanter"),
        Verb("dance", "dances", "danced", "danse", "danse", "dansent", "dansé", "danser"),
        Verb("work", "works", "worked", "travaille", "travaille", "travaillent", "travaillé", "travailler"),
        Verb("sleep", "sleeps", "slept", "dors", "dort", "dorment", "dormi", "dormir", _EVERYBODY),
    )
}  # fmt: skip

# Where things happen: English preposition, French preposition, nouns that may follow.
PLACES = (
    ("in", "dans", ("garden", "school", "kitchen", "forest", "house")),
    ("near", "près de", ("garden", "school", "market", "forest", "house", "tree", "car")),
    ("behind", "derrière", ("house", "school", "tree", "car")),
    ("under", "sous", ("tree", "table")),
)
GOALS = ("garden", "school", "market")
