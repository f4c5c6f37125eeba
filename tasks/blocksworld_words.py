"""Facts of Blocksworld in plain words: `the red block is on top of the blue one, and my hand is empty`.

A text is first put in one spelling, `<red> ON <blue> , & HAND EMPTY`: a token for each thing that can be said of
blocks, whatever words say it. A few patterns over these tokens are the facts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from .blocksworld_facts import fact

NAME = r"[a-z0-9][a-z0-9_-]{0,40}"
_NAME = re.compile(NAME)


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact that a text states, or denies."""

    fact: str
    holds: bool = True


@dataclass(frozen=True, slots=True)
class Said:
    """What a text says. unread: what in it says no fact. dangling: it breaks off inside of a fact."""

    statements: list[Statement] = field(default_factory=list[Statement])
    unread: list[str] = field(default_factory=list[str])
    dangling: bool = False

    @property
    def facts(self) -> frozenset[str]:
        """What is stated."""
        return frozenset(each.fact for each in self.statements if each.holds)

    @property
    def denied(self) -> frozenset[str]:
        return frozenset(each.fact for each in self.statements if not each.holds)


# -- one spelling

_MOVED = r"(?:(?:sit|rest|stand|l[iy]|stack|plac|locat|position|mov|put)(?:s|e|es|ed|ing|ting)? (?:down )?)?"
# What is said in many ways -> the one token that stands for it, in this order.
_SPELLINGS = tuple(
    (re.compile(rf"(?<![\w<-])(?:{pattern})(?![\w>-])"), f" {token} ")
    for pattern, token in (
        (r"(?:hand|arm)[-_]?empty", "HAND EMPTY"),
        (r"ha(?:ve|s) that", ""),
        (r"(?:no longer|not) (?:covered|obstructed|under (?:anything|another)(?: block)?)", "CLEAR"),
        (r"(?:would|will)(?= (?:(?:now|then|also|still) )?(?:be|become|remain|stay|hold|have)\b)", ""),
        (r"no longer|not any ?more|(?:stop|cease)(?:s|ped|d)?(?: being| to be)?", "NOT"),
        (r"leaves|leaving|left", "NOT ON"),
        (r"not|never|\w{2,6}n['’]t|cannot|loses|lost", "NOT"),
        (r"was|were|had|has been|used to|previously|before|originally|from|off", "WAS"),
        (r"nothing|no (?:other )?blocks?|none|null", "NOTHING"),
        (r"(?:(?:my|the|his|its|your|robot|robot['’]?s) ){0,2}(?:hands?|arm|gripper|claw)|(?:the )?robot", "HAND"),
        (r"i|i['’]m|we|you", "HAND"),
        (rf"{_MOVED}on[-_ ]?(?:the )?(?:table|tabletop|ground|floor)", "ON TABLE"),
        (r"(?:the )?(?:table|tabletop|ground|floor)", "TABLE"),
        (r"NOT ON +TABLE", "NOT ON TABLE"),
        (r"(?:all|every|each)(?: of)?(?: the)?(?: (?:two|three|four|five|six|[0-9]))? (?:blocks?|cubes?)", "EVERY"),
        (r"both|all|each|they(?: both)?", "THEY"),
        (r"which", "WHICH"),
        (rf"{_MOVED}(?:on(?: the)? top(?: of)?|onto|upon|atop|above|on)", "ON"),
        (r"under(?:neath)?|beneath|below|supports?|supporting", "UNDER"),
        (r"into +HAND", "NOW INHAND"),
        (r"in +HAND|held(?: by +HAND)?|in (?:my |the )?possession", "INHAND"),
        (r"hold(?:s|ing)?|grip(?:s|ping)|carr(?:ies|ying)|grasp(?:s|ing)?|ha(?:s|ve|ving)", "HOLD"),
        (r"clear|uncovered|exposed", "CLEAR"),
        (r"empty|free", "EMPTY"),
        (r"can|could|should|would|may|might|must|want|wants|if|unless|goal", "MAYBE"),
        (r"now|to|becomes?|becoming", "NOW"),
        (r"and|but|while|&", "&"),
    )
)
_MEANINGLESS = """
    the a an or of is are be being been am that this there as in with its it their my our by one ones
    block blocks cube cubes state states fact facts initial initially current currently condition conditions goals
    so also then still remain remains stay stays top directly go goes going where new updated resulting
    following at s will need needs moved placed
    init define problem domain objects
"""
_FILLERS = frozenset(_MEANINGLESS.split())
_TOKEN = re.compile(rf"<{NAME}>|[A-Z]+(?![a-z])|[,&:]|[.;!?\n]|{NAME}")
_CALLED = re.compile(rf"\b(?:the|an?) ({NAME}) (?:block|cube)\b|\b(?:block|cube) ({NAME})(?![\w-])")
_ARTICLE = re.compile(r"(?<![\w-])a(?![\w-])(?! (?!(?:is|are|and|on|sits|rests|in|has|was|under)\b)[a-z<])")
_PRONOUN = re.compile(r"(?<![\w-])i(?![\w'’-])(?! (?:am|hold|have|pick|put|stack|unstack|now)\b)")


def spelled(text: str, blocks: Collection[str] | None) -> list[str]:
    """The tokens of a text: blocks as `<red>`, what can be said of them in capitals, and marks.

    blocks: their names. None: any word that has no other meaning is one.
    """
    text = re.sub(r"[ \t\r]+", " ", re.sub(r"(?<=\w) ?= ?(?=\w)", ": ", text.casefold()))
    names = frozenset(blocks or ()) | {a or b for a, b in _CALLED.findall(text)} - _FILLERS
    if blocks is None and _ARTICLE.search(text):
        names |= {"a"}
    for name in sorted(names, key=len, reverse=True):
        single = {"a": _ARTICLE, "i": _PRONOUN}.get(name)
        text = (single or re.compile(rf"(?<![\w<-]){re.escape(name)}(?![\w>-])")).sub(f"<{name}>", text)
    for pattern, token in _SPELLINGS:
        text = pattern.sub(token, text)
    tokens, last = [], ""
    for token in _TOKEN.findall(text):
        if token in _FILLERS:
            continue
        if _NAME.fullmatch(token):  # a word of no other meaning
            token = f"<{token}>" if blocks is None else ""
        token = last if token == "WHICH" else token  # the block named last
        last = token if token.startswith("<") else last
        tokens += [token] if token else []
    return tokens


# -- what is said in it

_ONE = rf"<{NAME}>"
_SEVERAL = rf"{_ONE}(?: (?:, |& ){{1,2}}{_ONE}){{0,30}}+"
_NO = r"(?:(?:NOW|NOT) ){0,3}"
_STATEMENT = re.compile(
    "|".join(
        (
            rf"NOTHING (?P<n1>{_NO})ON (?P<bare>{_ONE})",
            rf"(?P<below>{_ONE}) (?P<n2>{_NO})HOLD (?P<above>{_ONE}) ON(?! <| TABLE)",
            rf"TABLE (?P<n3>{_NO})HOLD (?P<table>{_SEVERAL})",
            rf"(?:HAND (?:: )?)?(?P<n4>{_NO})(?:HOLD (?:: )?|(?<=HAND : ))(?P<nothing>NOTHING)(?! ON)",
            rf"(?:HAND (?:: )?)?(?P<n5>{_NO})(?:HOLD (?:: )?|(?<=HAND : ))(?P<held>{_ONE})",
            rf"(?P<n8>{_NO})HAND (?:: )?(?P<n6>{_NO})(?P<empty>EMPTY|CLEAR)|EMPTY (?P<empty2>HAND)",
            rf"(?:ON )?TABLE : (?P<listed>{_SEVERAL})",
            rf"(?:CLEAR :|(?<![^.;\n] )CLEAR) (?P<cleared>{_SEVERAL})",
            rf"(?:(?:THEY )?(?P<who>{_SEVERAL}) (?:PAST |, |& )*|(?P<whom>THEY|EVERY) )?(?P<n7>{_NO})"
            rf"(?:(?P<lies>(?:ON |(?<=NOW ))TABLE)|ON (?P<under>{_ONE})|UNDER (?P<over>{_ONE})"
            rf"|(?P<open>CLEAR|EMPTY|(?:HOLD )?NOTHING ON(?! <| TABLE))|(?P<taken>INHAND))",
        )
    )
)
_PAST = re.compile(r"WAS (?:(?!NOW )[^\s.;!?,&]+(?: |\Z))*")
_OF_ONE = re.compile(
    rf"({_ONE}) : (?=(?:NOW |NOT ){{0,2}}(?:ON|UNDER|INHAND|CLEAR|HOLD NOTHING)\b)"
)  # `red: on the table`
_LIES = re.compile(rf"({_ONE}) : TABLE\b")
_SUPPOSED = re.compile(r"MAYBE [^.;!?\n]*")
_NONE = re.compile(
    r"\b(?:(?:stack|tower)s?|on)[*_ ]{0,3}:[*_ ]{0,3}(?:none\b|nothing\b|empty\b|no stacks|-(?![\w-]))",
    re.IGNORECASE,
)
_AFTER = re.compile(r"\bafter [^,.:;\n]{0,100}[,:]", re.IGNORECASE)


def said(text: str, blocks: Collection[str] | None = None) -> Said:
    """The facts that plain words state and deny, in their order.

    With `blocks` given it reads what somebody tells of a world: what was, may be or is wished for is no fact of it.
    """
    tokens = " ".join(spelled(_AFTER.sub(" ", _NONE.sub(" ", text)), blocks))
    tokens = _LIES.sub(r"\1 ON TABLE", _OF_ONE.sub(r"\1 ", tokens))
    if blocks is not None:
        tokens = _SUPPOSED.sub("", tokens)
    tokens = re.sub(r" {2,}", " ", _PAST.sub("PAST ", tokens.replace("MAYBE", "")))
    statements: list[Statement] = []
    unread: list[str] = []
    of_clause: list[str] = []  # whom the last clause is about
    of_sentence: list[str] = []
    end = 0
    for match in _STATEMENT.finditer(tokens):
        between = tokens[end : match.start()]
        if re.search(r"[.;!?\n]", between):
            of_clause, of_sentence = [], []
        if match["who"]:
            of_clause = re.findall(NAME, match["who"])
            of_sentence += of_clause
        everyone = blocks or re.findall(NAME, " ".join(re.findall(_ONE, tokens)))
        subjects = {"THEY": of_sentence, "EVERY": sorted(everyone)}.get(match["whom"] or "", of_clause)
        denied = "NOT" in "".join(match[f"n{k}"] or "" for k in range(1, 9))
        found = [Statement(each, not denied) for each in dict.fromkeys(_facts(match, subjects))]
        statements += found
        unread += _left(between if found else tokens[end : match.end()])
        end = match.end()
    rest = tokens[end:]
    broken_off = bool(_left(rest)) or bool(re.search(r"\b(?:NOW|NOT|HAND|THEY|EVERY)\Z", rest.rstrip(" ,&")))
    return Said(statements, unread + _left(rest), broken_off and not re.search(r"[.!?] *\Z", tokens))


def _facts(match: re.Match[str], subjects: list[str]) -> Iterator[str]:
    def names(group: str) -> list[str]:
        return re.findall(NAME, match[group] or "")

    yield from (fact("clear", block) for block in names("bare") + names("cleared"))
    yield from (fact("on", above, names("below")[0]) for above in names("above"))
    yield from (fact("ontable", block) for block in names("table") + names("listed"))
    yield from (fact("holding", block) for block in names("held"))
    if match["nothing"] or match["empty"] or match["empty2"]:
        yield "handempty"
    for block in subjects:
        if match["lies"]:
            yield fact("ontable", block)
        elif match["under"]:
            yield fact("on", block, names("under")[0])
        elif match["over"]:
            yield fact("on", names("over")[0], block)
        elif match["open"]:
            yield fact("clear", block)
        elif match["taken"]:
            yield fact("holding", block)


_ALONE = ("NOW", "NOT", "PAST", "HAND", "THEY")  # tokens that need no fact beside them


def _left(tokens: str) -> list[str]:
    """What was passed over: blocks, relations, words of no meaning."""
    words = [token for token in re.findall(r"[^ \n,.;:!?&]+", tokens) if token not in _ALONE]
    return [" ".join(words).replace("<", "").replace(">", "").lower()] if words else []
