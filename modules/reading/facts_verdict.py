"""What a world model says about an action as a whole: it is illegal, changes nothing, reaches the goal."""

from __future__ import annotations

import re

_ACTION = r"(?:action|move|step|that|this|it|you|i|we|which)"
_GOOD = r"(?:legal|valid|allowed|possible|permitted|applicable|executable|feasible)"
_BAD = rf"(?:illegal|invalid|(?:not|\w{{2,5}}n['’]t) (?:an? )?{_GOOD}|impossible|disallowed|forbidden|inapplicable)"
_VERDICT = re.compile(
    rf"\A\W{{0,6}}(?:the )?(?:(?:answer|result|output|verdict|state|action|move)\W{{1,3}})?(?:is )?{_BAD}\b"
    rf"|\b{_ACTION}\b[^.;\n]{{0,60}}?\b(?:is|are|was|would be|be|seems|'s)\s(?:therefore |thus |an? |simply )?{_BAD}\b"
    rf"|^\W{{0,4}}(?:ILLEGAL|INVALID)\b|\b(?:not|\w{{2,5}}n['’]t) (?:an? )?(?:legal|valid|applicable|executable)\b"
    r"|\b(?:violat(?:es?|ing)|break(?:s|ing)?) (?:a|an|any|the|this) (?:\w+ )?(?:rule|constraint|precondition)"
    r"|\b(?:action|move|step) (?:fails|failed|would fail|will fail|does not work)\b"
    rf"|\bpreconditions?\b[^.\n]{{0,30}}\b(?:not|fails?|isn['’]t|aren['’]t|unmet|violated)\b",
    re.IGNORECASE | re.MULTILINE,
)
_INABILITY = re.compile(
    r"\b(?:can ?not|can['’]t|could not|couldn['’]t|unable|not able|not possible|impossible)\b", re.IGNORECASE
)
_NEGATED = re.compile(
    r"\b(?:not|no|never|nothing|without|\w{2,7}n['’]t)\s(?:an? )?(?:illegal|invalid|violat\w+|break\w*|rules?)",
    re.IGNORECASE,
)
_UNCHANGED = re.compile(
    r"\bnothing (?:at all )?(?:changes?|happens?|is different|would (?:change|happen)|has changed)"
    r"|\bno (?:state )?changes?\b|\bhas no effect\b|\bhave no effect\b"
    r"|\b(?:state|world|everything|all|it)(?: (?:is|remains?|stays?|has|will))*(?: (?:left|exactly|be|completely))*"
    r" (?:unchanged|the same|as (?:it (?:is|was)|before)|not changed?)\b"
    r"|\b(?:does|did|do)(?: not|n['’]t) change\b|\bsame state\b|\bunchanged\b",
    re.IGNORECASE,
)
_REST = re.compile(r"\b(?:else|rest|other\w*|remaining|all else)\b[^.\n]{0,40}$", re.IGNORECASE)
_GOAL = re.compile(
    r"\bgoals?(?: state| condition)?s?[\s_]{0,2}(?:(?:is|are|has been|have been|been|was|now|already|fully|all)\s){0,3}"
    r"(?P<no1>(?:not|isn['’]t|n['’]t)(?: yet| fully| been)*\s)?(?:met|reached|satisfied|achieved|complete|done)\b"
    r"(?:\s{0,3}[:=?]\s{0,3}[\"'*]{0,3}(?P<answer>yes|no|true|false)\b)?",
    re.IGNORECASE,
)


def illegal(text: str) -> str | None:
    """Why the text calls the action illegal; None if it does not."""
    found = _VERDICT.search(text)
    if not found or _NEGATED.search(text[max(0, found.start() - 12) : found.end() + 12]):
        return None
    return why(text)


def unable(text: str) -> str | None:
    """The same of a text that says only what cannot be done. A state may follow that says otherwise."""
    return why(text) if _INABILITY.search(text[:400]) else None


def why(text: str) -> str:
    """The reason that follows a verdict, in short."""
    said = re.sub(r"\A\W{0,6}(?:ILLEGAL|INVALID)\b[\s:.,–—-]*(?:because )?", "", text, flags=re.IGNORECASE)
    said = " ".join(said.split())[:200].strip(" *_`\"'")
    return f"illegal: {said}" if said else "illegal"


def unchanged(text: str) -> bool:
    """Does the text say that the action changes nothing? `Everything else stays the same` says something else."""
    return any(
        not _REST.search(text[max(0, m.start() - 40) : m.end()].split("\n")[-1]) for m in _UNCHANGED.finditer(text)
    )


def rest_unchanged(text: str) -> bool:
    """Does the text say that what it does not tell is as before?"""
    return bool(
        re.search(r"\b(?:else|rest|other)\b[^.\n]{0,40}\b(?:same|unchanged|before|was|change)", text, re.IGNORECASE)
    )


def goal(text: str, keep: bool = False) -> tuple[bool | None, str]:
    """(whether the text says that the goal is met, the text without that).

    keep: `goal met` without a yes or no stays, since in this world it may be a fact.
    """
    found = list(_GOAL.finditer(text))
    if not found:
        return None, text
    last = found[-1]
    answer = (last["answer"] or "yes").lower() in ("yes", "true")
    rest = _GOAL.sub(lambda said: said[0] if keep and not said["answer"] else " ", text)
    return answer is (last["no1"] is None), rest
