"""The viewer in a real browser: what a click, a key, a search, a filter, playing and comparing do."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import dspy
import pytest

import browser
from engines import Engine, lm
from kill_runs import PROGRAMS
from puzzle24 import PUZZLE, call, engine
from thoughtree import Beam, BestFirst, Game24, TreeOfThoughts, view
from thoughtree.offline import offline_lm

pytestmark = pytest.mark.slow

ALL_ROWS = (
    "return [...document.querySelectorAll('#outline [role=treeitem]')].sort((a, b) => a.offsetTop - b.offsetTop ||"
)
ALL_ROWS += (
    " a.style.transform.match(/[\\d.]+/)[0] - b.style.transform.match(/[\\d.]+/)[0]).map((row) => row.dataset.id)"
)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    driver = browser.start()
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Journals, and what the searches gave back."""
    folder, found = tmp_path_factory.mktemp("runs"), {}
    for name, controller in (("beam", Beam(width=2)), ("best-first", BestFirst())):
        path = folder / f"{name}.jsonl"
        program = TreeOfThoughts(task=Game24(), controller=controller, concurrency=1)
        prediction = call(program, engine(tokens=(70, 30)), numbers=PUZZLE, config={"journal": path})
        found[name] = path, prediction
    for name in ("lats", "rap"):
        make, inputs, reply = PROGRAMS[name]
        model, path = Engine(lambda kind, inputs, n, reply=reply: reply(kind, inputs)), folder / f"{name}.jsonl"
        with dspy.context(lm=lm(model)):
            found[name] = path, make()(**inputs, config={"journal": path})
    return found


class Page:
    """A page of the viewer, and what a person does there."""

    def __init__(self, driver: Any, path: Path) -> None:
        self.driver = driver
        driver.get(browser.address(path))
        driver.execute_script("return performance.getEntriesByName('view-ready')[0].startTime")

    def js(self, code: str, *arguments: Any) -> Any:
        return self.driver.execute_script(code, *arguments)

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def text(self, selector: str) -> str:
        return str(self.js("return document.querySelector(arguments[0]).textContent", selector))

    def texts(self, selector: str) -> list[str]:
        """Of all that there are."""
        code = "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent.trim())"
        return [str(text) for text in self.js(code, selector)]

    def table(self, selector: str) -> list[list[str]]:
        """The cells of each row of a table's body."""
        code = "return [...document.querySelectorAll(arguments[0])].map((row) => "
        code += "[...row.children].map((cell) => cell.textContent.trim()))"
        return [[str(cell) for cell in row] for row in self.js(code, f"{selector} tbody tr")]

    def count(self, selector: str) -> int:
        return int(self.js("return document.querySelectorAll(arguments[0]).length", selector))

    def click(self, selector: str) -> None:
        self.find(selector).click()

    def press(self, *keys: str) -> None:
        """To whatever has the focus."""
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def rows(self) -> list[int]:
        """The nodes of the outline, from the top."""
        return [int(id) for id in self.js(ALL_ROWS)]

    def selected(self) -> int | None:
        found = self.js("return document.querySelector('[role=treeitem][aria-selected=true]')?.dataset.id")
        return None if found is None else int(found)

    def focus(self) -> str:
        return str(self.js("return document.activeElement.id"))

    def until(self, code: str) -> Any:
        """Wait until the page says so, a frame at a time."""
        return self.driver.execute_async_script(
            f"const done = arguments[0], look = () => {{ const found = (() => {{ {code} }})();"
            "found ? done(found) : requestAnimationFrame(look); }; look();"
        )


@pytest.fixture
def page(chromium: Any, runs: dict[str, Any], tmp_path: Path) -> Page:
    return Page(chromium, view(runs["beam"][0], to=tmp_path / "beam.html"))


def keys() -> Any:
    from selenium.webdriver.common.keys import Keys

    return Keys


# ---- what is there


def test_all_nodes_are_there_with_values_verdicts_statuses_and_reasons(page: Page, runs: dict[str, Any]) -> None:
    result = runs["beam"][1].search
    assert sorted(page.rows()) == list(range(len(result.tree)))
    for node in result.tree:
        label = page.js("return document.getElementById(arguments[0]).getAttribute('aria-label')", f"row-{node.id}")
        assert label.startswith(f"#{node.id} {result.shown(node) if node.id else 'start'}, {node.status}")
        if node.value is not None:
            assert f"value {node.value:g} {node.verdict}" in label
        if node.status == "pruned":
            assert f", pruned at {node.reason:g}, " in label
        assert ("on the path given back" in label) == (node in result.tree.path(result.best))
    assert page.text("#status") == "solved"
    assert page.text("#answer") == runs["beam"][1].answer
    assert page.driver.get_log("browser") == []


def test_the_run_says_what_was_spent_by_role(page: Page, runs: dict[str, Any]) -> None:
    result = runs["beam"][1].search
    table = {row[0]: row[1:3] for row in page.table(".spending")}
    assert table == {role: [f"{one.calls:,}", f"{one.tokens:,}"] for role, one in result.spent_by.items()}
    assert page.texts(".spending tfoot td")[:2] == [f"{result.spent.calls:,}", f"{result.spent.tokens:,}"]


def test_of_a_best_that_code_refused_it_says_so_and_bars_are_of_the_scale(chromium: Any, tmp_path: Path) -> None:
    program = TreeOfThoughts(task=Game24(), controller=Beam(width=2), concurrency=1)
    journal = tmp_path / "refused.jsonl"
    with dspy.context(lm=offline_lm()):
        found = program(numbers="1 1 1 1", config={"journal": journal}).search
    assert {node.value for node in found.tree if node.value is not None} == {0.001}  # on a scale up to 20
    page = Page(chromium, view(journal))
    assert page.text("#panel header .muted") == "The best candidate, which code has refused."
    assert page.count("#outline .meter") > 1
    widths = page.js("return [...document.querySelectorAll('#outline .meter .fill')].map((one) => one.style.width)")
    assert set(widths) == {"0%"}


def test_a_click_shows_state_prompt_reply_cost_and_time(page: Page) -> None:
    page.click("[data-id='1']")
    panel = page.text("#panel")
    assert panel.startswith(" Node #1 \u00b7 depth 110-4=6")
    assert "6 9 13" in page.text("#panel pre")
    assert page.count(".exchange") == 2  # it was rated, then asked for what follows
    for exchange in (1, 2):
        page.click(f".exchange:nth-of-type({exchange}) > summary")
    page.until("return document.querySelectorAll('.call').length === 2")
    prompts = page.texts(".message:not(.reply):not(.system) pre")
    assert all("[[ ## search_path ## ]]\n1. 10-4=6" in prompt for prompt in prompts)
    replies = page.texts(".reply pre")
    assert "[[ ## thought_rating ## ]]\nsure" in replies[0]
    assert "2. 13 - 9 = 4" in replies[1]
    assert page.count(".message.system") == 2
    assert "70 tokens in \u00b7 30 out" in page.text(".call")
    figures = dict(zip(page.texts(".figures dt"), page.texts(".figures dd"), strict=True))
    assert (figures["LM calls"], figures["Tokens"], figures["Value"]) == ("2", "200", "20 sure")
    assert set(figures) >= {"Cost", "Call time", "Ratings", "Nodes below"}


def test_from_a_duplicate_one_gets_to_the_node_met_first(chromium: Any, runs: dict[str, Any], tmp_path: Path) -> None:
    path, prediction = runs["lats"]
    page = Page(chromium, view(path, to=tmp_path / "lats.html"))
    twin = next(node for node in prediction.search.tree if node.status == "duplicate")
    assert f", duplicate of #{twin.reason}" in page.find(f"#row-{twin.id}").get_attribute("aria-label")
    page.click(f"[data-id='{twin.id}']")
    assert page.text(".verdict") == f"duplicate of #{twin.reason} Go to #{twin.reason}"
    page.click(".verdict .link")
    assert page.selected() == twin.reason


def test_a_result_alone_says_where_prompts_are(chromium: Any, runs: dict[str, Any], tmp_path: Path) -> None:
    path, prediction = runs["beam"]
    page = Page(chromium, view(prediction, to=tmp_path / "alone.html"))
    page.click("[data-id='1']")
    assert "--journal run.jsonl" in page.text("#panel")
    assert page.count(".exchange") == 0
    page = Page(chromium, view(prediction, to=tmp_path / "joined.html", journal=path))
    page.click("[data-id='1']")
    assert page.count(".exchange") == 2


def test_lats_shows_visits_rollouts_and_observations(chromium: Any, runs: dict[str, Any], tmp_path: Path) -> None:
    path, prediction = runs["lats"]
    page, result = Page(chromium, view(path, to=tmp_path / "lats.html")), prediction.search
    table = [row[1] for row in page.table(".scroll")]
    assert table == [f"#{log.leaf}" for log in result.tree.rollouts]
    node = next(n for n in result.tree if n.visits and n.observation is not None)
    page.js(f"document.querySelector(\"[data-id='{node.id}']\").click()")
    assert f"Visits{node.visits}" in page.text(".figures")
    assert node.observation["observation"] in page.text("#panel")


def test_rap_shows_predicted_states_and_rewards(chromium: Any, runs: dict[str, Any], tmp_path: Path) -> None:
    path, prediction = runs["rap"]
    page, result = Page(chromium, view(path, to=tmp_path / "rap.html")), prediction.search
    node = next(n for n in result.tree if n.id and n.state is not None)
    page.js(f"document.querySelector(\"[data-id='{node.id}']\").click()")
    assert page.text("#panel section pre") == result.task.render(node.state)


def test_lessons_are_listed(chromium: Any, runs: dict[str, Any], tmp_path: Path) -> None:
    prediction = runs["beam"][1].search
    prediction.tree.lessons.append("try <b>products</b> first")
    try:
        page = Page(chromium, view(prediction, to=tmp_path / "lessons.html"))
    finally:
        prediction.tree.lessons.pop()
    assert "Lessons (1)" in page.text("#panel")
    assert "try <b>products</b> first" in page.text("#panel")


def test_a_journal_that_broke_off_is_shown_as_far_as_it_goes(
    chromium: Any, runs: dict[str, Any], tmp_path: Path
) -> None:
    lines = runs["beam"][0].read_bytes().splitlines(keepends=True)
    (tmp_path / "cut.jsonl").write_bytes(b"".join(lines[:6]) + lines[6][:40])
    page = Page(chromium, view(tmp_path / "cut.jsonl"))
    assert page.text("#status") == "unfinished"
    assert "Its last line is torn" in page.text("#notes")
    assert "the run was killed, was interrupted, or is still at work" in page.text("#notes")
    assert page.rows()[0] == 0
    assert len(page.rows()) > 1


def test_a_search_that_never_began_is_shown_too(chromium: Any, tmp_path: Path) -> None:
    from viewed import wide

    page = Page(chromium, view(wide(1), to=tmp_path / "one.html"))
    assert page.rows() == [0]
    assert page.text("#told") == "Nothing was told: there is no step to play"
    for selector in ("[data-id='0']", "#show-path", "#collapse-all", "#play", "#forward", "#to-start"):
        page.click(selector)
    assert page.rows() == [0]
    assert page.driver.get_log("browser") == []


# ---- finding one's way


def test_search_finds_goes_through_the_hits_and_is_left(page: Page) -> None:
    Keys = keys()
    page.click("#outline")
    page.press("/")
    assert page.focus() == "query"
    page.press("6*4")
    assert page.text("#hits") == "1 hit"
    page.press(Keys.ENTER)
    goal = page.selected()
    assert page.js("return document.querySelector('.row.hit').dataset.id") == str(goal)
    assert "6*4=24" in page.text("#panel h2")
    assert page.text("#hits") == "1 of 1 hit"
    page.press(Keys.ESCAPE)
    assert (page.focus(), page.text("#hits"), page.count(".row.hit")) == ("outline", "", 0)
    page.press("/", "nothing has this")
    assert page.text("#hits") == "no hit"
    assert page.find("#next-hit").get_attribute("disabled")


def test_prompts_and_replies_are_searched_too_where_that_is_asked_for(page: Page, runs: dict[str, Any]) -> None:
    page.find("#query").send_keys("THOUGHT_RATING")
    assert page.text("#hits") == "no hit"
    page.click("#deep")
    rated = [node for node in runs["beam"][1].search.tree if node.ratings]
    assert page.text("#hits") == f"{len(rated)} hits"
    page.click("#next-hit")
    assert page.selected() in {node.id for node in rated}


def test_a_node_is_found_by_its_number_although_it_is_folded_away(page: Page) -> None:
    page.click("#collapse-all")
    assert page.rows() == [0, *sorted(page.rows()[1:])]
    before = len(page.rows())
    page.find("#query").send_keys("#12", keys().ENTER)
    assert page.selected() == 12
    assert len(page.rows()) > before


def test_a_filter_shows_a_status_and_what_leads_there(page: Page, runs: dict[str, Any]) -> None:
    tree = runs["beam"][1].search.tree
    page.click("[data-status='solved']")
    (goal,) = [n for n in tree if n.status == "solved"]
    assert page.rows() == [n.id for n in tree.path(goal)]
    assert page.find("[data-status='solved']").get_attribute("aria-pressed") == "true"
    page.click("[data-status='pruned']")
    wanted = {id.id for n in tree if n.status in ("solved", "pruned") for id in tree.path(n)}
    assert set(page.rows()) == wanted
    page.click("#clear")
    assert len(page.rows()) == len(tree)
    assert page.count("[aria-pressed='true']") == 0


def test_branches_open_and_close(page: Page, runs: dict[str, Any]) -> None:
    tree = runs["beam"][1].search.tree
    page.click("[data-id='1'] .twist")
    assert page.find("#row-1").get_attribute("aria-expanded") == "false"
    below = {n.id for n in tree if 1 in [above.id for above in tree.path(n)]} - {1}
    assert set(page.rows()) == {n.id for n in tree} - below
    page.click("[data-id='1'] .twist")
    assert len(page.rows()) == len(tree)
    page.click("#collapse-all")
    assert page.rows() == [0, *tree.root.children]
    page.click("#show-path")
    assert set(page.rows()) >= {n.id for n in tree.path(runs["beam"][1].search.best)}


def test_the_tree_has_the_keys_and_roles_of_a_tree(page: Page, runs: dict[str, Any]) -> None:
    Keys, tree = keys(), runs["beam"][1].search.tree
    assert (page.find("#outline").get_attribute("role"), page.find("#row-1").get_attribute("role")) == (
        "tree",
        "treeitem",
    )
    place = [page.find("#row-2").get_attribute(f"aria-{name}") for name in ("level", "setsize", "posinset")]
    assert place == ["2", str(len(tree.root.children)), "2"]
    page.js("document.getElementById('outline').focus()")
    page.press(Keys.ARROW_DOWN)
    assert page.selected() == 0
    page.press(Keys.ARROW_RIGHT)
    assert page.selected() == 1
    page.press(Keys.ARROW_LEFT)  # it closes
    assert page.find("#row-1").get_attribute("aria-expanded") == "false"
    page.press(Keys.ARROW_LEFT)  # to the parent
    assert page.selected() == 0
    page.press(Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    assert page.find("#row-1").get_attribute("aria-expanded") == "true"
    page.press(Keys.ARROW_RIGHT)
    assert page.selected() == tree[1].children[0]
    assert page.find("#outline").get_attribute("aria-activedescendant") == f"row-{tree[1].children[0]}"
    page.press(Keys.END)
    assert page.selected() == page.rows()[-1]
    page.press(Keys.HOME)
    assert page.selected() == 0
    page.press(Keys.ENTER)
    assert page.focus() == "panel"
    page.press(Keys.ESCAPE)
    assert page.focus() == "outline"
    page.press(Keys.ESCAPE)
    assert page.selected() is None
    assert page.find("#tab-run").get_attribute("aria-selected") == "true"
    page.press("?")
    assert page.js("return document.getElementById('keys').open") is True
    page.press(Keys.ESCAPE)
    assert page.js("return document.getElementById('keys').open") is False


def test_everything_is_reached_by_tab_and_the_focus_is_seen(page: Page) -> None:
    Keys, seen = keys(), []
    for _ in range(60):
        page.press(Keys.TAB)
        style = page.js(
            "const { activeElement } = document, style = getComputedStyle(activeElement);"
            "return [activeElement.id || activeElement.className, style.outlineStyle, parseFloat(style.outlineWidth)]"
        )
        if style[0] in seen[:3] and len(seen) > 20:
            break
        seen.append(style[0])
        if page.js("return document.activeElement !== document.body"):
            assert style[1] != "none", style
            assert style[2] >= 1, style
    assert {"query", "theme", "help", "outline", "map", "tab-run", "panel", "play", "step", "speed"} <= set(seen)


# ---- the map


def pixels(page: Page) -> str:
    """The first map as it is painted, two frames on."""
    code = "const done = arguments[0], next = requestAnimationFrame;"
    code += "next(() => next(() => done(document.querySelector('canvas').toDataURL())))"
    return str(page.driver.execute_async_script(code))


def test_the_map_moves_zooms_and_picks(page: Page) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

    canvas = page.find("canvas")
    first = pixels(page)
    ActionChains(page.driver).scroll_from_origin(ScrollOrigin.from_element(canvas), 0, 400).perform()
    zoomed = pixels(page)
    ActionChains(page.driver).drag_and_drop_by_offset(canvas, 60, 40).perform()
    moved = pixels(page)
    assert len({first, zoomed, moved}) == 3
    assert page.selected() is None  # a drag is no click
    page.click("[aria-label='Fit the whole tree']")
    page.js("document.querySelector('canvas').focus()")
    page.press("+")
    page.press("0")
    fitted = pixels(page)
    page.click("[aria-label='To the selected node']")  # none is: to the root, which stands in the middle then
    assert pixels(page) != fitted
    ActionChains(page.driver).move_to_element(canvas).perform()
    page.until("return !document.getElementById('tip').hidden")
    assert page.text("#tip strong") == "#0 start"
    ActionChains(page.driver).click().perform()
    assert page.selected() == 0
    rows = len(page.rows())
    ActionChains(page.driver).double_click(canvas).perform()  # and it is in the middle still
    assert rows > len(page.rows()) == 1


# ---- step by step


def test_it_is_played_step_by_step(page: Page, runs: dict[str, Any]) -> None:
    result = runs["beam"][1].search
    page.click("#to-start")
    assert page.rows() == [0]
    assert page.find("#row-0").get_attribute("aria-expanded") is None  # nothing was proposed yet
    page.click("#forward")
    assert page.text("#told") == "Step 1 of 12: propose #0: 3 proposals"
    assert page.rows() == [0, *result.tree.root.children]
    assert page.count(".row .worth") == 0  # none is rated
    page.click("#forward")
    assert page.text("#told") == "Step 2 of 12: rate #1: 20 sure"
    assert page.js(
        "return [...document.querySelectorAll('.row .worth')].map((one) => one.closest('.row').dataset.id)"
    ) == ["1"]
    page.click("#back")
    assert page.count(".row .worth") == 0
    page.click("#to-end")
    assert len(page.rows()) == len(result.tree)
    assert page.count(".row.on-path") == 4


def test_play_goes_on_by_itself_and_ends(page: Page, runs: dict[str, Any]) -> None:
    page.js("document.getElementById('speed').value = '60'")
    page.js("document.getElementById('outline').focus()")
    page.press(" ")
    page.until(
        "const [step, play] = ['step', 'play'].map((id) => document.getElementById(id));"
        "return step.value === '12' && play.textContent === 'Play'"
    )
    assert len(page.rows()) == len(runs["beam"][1].search.tree)


def test_a_result_without_a_journal_is_played_by_its_families(
    chromium: Any, runs: dict[str, Any], tmp_path: Path
) -> None:
    result = runs["beam"][1].search
    page = Page(chromium, view(result, to=tmp_path / "result.html"))
    page.click("#to-start")
    page.click("#forward")
    assert page.rows() == [0, *result.tree.root.children]
    assert page.text("#told").startswith("Step 1 of ")


# ---- two runs


def test_two_runs_are_compared(chromium: Any, runs: dict[str, Any], tmp_path: Path) -> None:
    (a, first), (b, second) = runs["beam"], runs["best-first"]
    page = Page(chromium, view(a, b, to=tmp_path / "both.html"))
    assert page.find("#tab-compare").get_attribute("aria-selected") == "true"
    rows = {row[0]: row[1:3] for row in page.table(".compare")}
    spent = [first.search.spent, second.search.spent]
    assert rows["Calls"] == [f"{usage.calls:,}" for usage in spent]
    assert rows["Nodes"] == [str(len(found.search.tree)) for found in (first, second)]
    assert rows["Controller"] == ["Beam", "BestFirst"]

    def paths(found: Any) -> set[tuple[str, ...]]:
        return {tuple(found.search.steps(node)) for node in found.search.tree}

    assert rows["Only here"] == [str(len(paths(first) - paths(second))), str(len(paths(second) - paths(first)))]
    assert page.count("canvas") == 2
    page.click("[data-run='1']")
    assert len(page.rows()) == len(second.search.tree)
    page.click("#tab-compare")
    page.click(".comparison .plain .link")
    assert page.find("#tab-node").get_attribute("aria-selected") == "true"


def test_no_word_of_a_comparison_is_broken(chromium: Any, runs: dict[str, Any], tmp_path: Path) -> None:
    path = runs["beam"][0]
    (tmp_path / "cut.jsonl").write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:6]))
    page = Page(chromium, view(tmp_path / "cut.jsonl", path))
    rows = {row[0]: row[1:3] for row in page.table(".compare")}
    assert rows["Status"] == ["unfinished", "solved"]
    heights = page.js(
        "return ['Status', 'Controller'].map((name) => [...document.querySelectorAll('.compare tbody tr')]"
        ".find((row) => row.children[0].textContent.trim() === name).offsetHeight)"
    )
    assert heights[0] == heights[1]  # a line each


# ---- hostile text


HOSTILE = [
    "<img src=http://127.0.0.1:{port}/img onerror=window.hacked=1>",
    "</script><script>window.hacked=2</script>",
    "<!--<script>window.hacked=3",
    "<iframe src=http://127.0.0.1:{port}/frame></iframe>",
    "line\u2028\u2029alert(1)\u202etxt.exe",
    "a\x00b\x1b[31mred",
    "lone \ud800 surrogate",
    "'\"`${{window.hacked=4}}`]]>",
    "x" * 1_000_000,
]


def test_hostile_text_is_shown_as_text_and_fetches_nothing(chromium: Any, tmp_path: Path) -> None:
    asked: list[str] = []

    class Listening(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Listening)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        texts = [text.replace("{port}", str(server.server_port)) for text in HOSTILE]

        def said(kind: str, inputs: dict[str, str], n: int) -> Any:
            return {"rating_reasoning": "\n".join(texts), "thought_rating": "sure"}

        program = TreeOfThoughts(
            "question -> answer",
            propose=lambda inputs, node, n: texts,
            controller=Beam(width=2, branching=9, max_depth=1),
            answer="path",
        )
        path = tmp_path / "<img src=x onerror=alert(1)>.jsonl"
        with dspy.context(lm=lm(Engine(said))):
            found = program(question="\n".join(texts), config={"journal": path}).search
        assert len(found.tree) == 10
        page = Page(chromium, view(path, to=tmp_path / "page.html"))
        elements = page.js("return document.querySelectorAll('*').length")
        for node in found.tree:
            page.js(f"document.querySelector(\"[data-id='{node.id}']\").click()")
            page.js("for (const one of document.querySelectorAll('#panel details')) one.open = true")
        page.until("return document.querySelectorAll('.call').length > 0")
        told = page.js("return document.querySelector('#panel h2').textContent")
        assert told == "x" * 600
        assert page.text("#row-1 .action").startswith("<img src=http://127.0.0.1:")
        assert "line\\u2028\\u2029alert(1)\\u202etxt.exe" in page.text("#row-5 .action")
        assert "a\\x00b\\x1b[31mred" in page.text("#row-6 .action")
        assert "lone \\ud800 surrogate" in page.text("#row-7 .action")
        assert page.count("img, iframe, object, embed, link") == 0
        assert page.count("script:not([type])") == 1
        assert page.js("return window.hacked") is None
        assert page.js("return performance.getEntriesByType('resource').length") == 0
        assert asked == []
        assert elements < 2000
    finally:
        server.shutdown()
        server.server_close()


def test_the_page_may_fetch_nothing_and_run_nothing_else(page: Page) -> None:
    """Its policy holds in the browser, whatever would get in."""
    page.js(
        "const script = document.createElement('script'); script.textContent = 'window.hacked = 1';"
        "document.body.append(script)"
    )
    assert page.js("return window.hacked") is None
    code = "const done = arguments[0];"
    code += "fetch('http://127.0.0.1:9/').then(() => done('went'), (error) => done(String(error)))"
    refused = page.driver.execute_async_script(code)
    assert "TypeError" in refused
    said = [entry["message"] for entry in page.driver.get_log("browser")]
    assert any("Content Security Policy" in message for message in said)


# ---- readable

CONTRAST = """
const luminance = ([r, g, b]) => [r, g, b].map((c) => (c /= 255) <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
  .reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0);
const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
const colour = (css, under) => {
  canvas.fillStyle = under ? `rgb(${under.join(' ')})` : 'white'; canvas.fillRect(0, 0, 1, 1);
  canvas.fillStyle = css; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
const ground = (element) => {
  const above = [];
  for (let at = element; at; at = at.parentElement) above.unshift(getComputedStyle(at).backgroundColor);
  return above.reduce((under, css) => colour(css, under), null);
};
const low = [];
let checked = 0;
for (const element of document.querySelectorAll('body *')) {
  const text = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  if (!text || !element.checkVisibility({ visibilityProperty: true })) continue;
  if (element.matches('script, :disabled, option, .skip')) continue;
  const style = getComputedStyle(element), under = ground(element), ink = colour(style.color, under);
  const [a, b] = [luminance(ink), luminance(under)].sort((x, y) => y - x), ratio = (a + .05) / (b + .05);
  checked++;
  if (ratio < 4.5) low.push([element.tagName, element.className, element.textContent.slice(0, 30), ratio.toFixed(2)]);
}
return [checked, low];
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_light_and_in_dark(
    chromium: Any, runs: dict[str, Any], tmp_path: Path, scheme: str
) -> None:
    """A contrast of 4.5 to 1 at least (WCAG 2.2, AA), of every text that is shown."""
    browser.colours(chromium, scheme)
    try:
        page = Page(chromium, view(runs["beam"][0], runs["best-first"][0], to=tmp_path / "both.html"))
        dark = page.js("return getComputedStyle(document.body).backgroundColor")
        for selector in ("#tab-compare", "#tab-run", "[data-status='pruned']", "#clear", "[data-id='1']"):
            page.js("document.querySelector(arguments[0]).click()", selector)
            page.js("for (const one of document.querySelectorAll('#panel details')) one.open = true")
            checked, low = page.js(CONTRAST)
            assert checked > 40
            assert low == []
    finally:
        browser.colours(chromium, "light")
    assert dark == ("rgb(244, 245, 243)" if scheme == "light" else "rgb(19, 21, 25)")


def test_the_colours_can_be_chosen(page: Page) -> None:
    page.click("#theme")
    page.click("#theme")
    assert page.js("return getComputedStyle(document.body).backgroundColor") == "rgb(19, 21, 25)"
    page.click("#theme")
    assert page.text("#theme") == "Auto"


# ---- room


WIDER_THAN_ITS_PLACE = (
    "return [document.getElementById('outline'), document.scrollingElement]"
    ".filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.id || 'the page')"
)


@pytest.mark.parametrize("width", [1440, 420])
def test_values_stay_in_sight_beside_long_steps_and_nothing_leaves_the_page(
    chromium: Any, runs: dict[str, Any], tmp_path: Path, width: int
) -> None:
    from viewed import wide

    before = chromium.get_window_size()
    chromium.set_window_size(width, 900)
    try:
        for name, source in (("long", wide(1_000)), ("deep", wide(40, branching=1)), ("beam", runs["beam"][0])):
            page = Page(chromium, view(source, to=tmp_path / f"{name}.html"))
            assert page.count("#outline .meter") > 5
            assert page.js(WIDER_THAN_ITS_PLACE) == []
    finally:
        chromium.set_window_size(before["width"], before["height"])


# ---- many nodes


def test_of_many_nodes_only_those_in_view_are_elements(chromium: Any, tmp_path: Path) -> None:
    from viewed import wide

    page = Page(chromium, view(wide(10_000), to=tmp_path / "many.html"))
    page.click("#expand-all")
    assert page.js("return document.getElementById('spacer').style.height") == f"{10_000 * 30}px"
    assert page.count("#outline [role=treeitem]") < 80
    page.js("document.getElementById('outline').focus()")
    page.press(keys().END)
    last = page.selected()
    code = "const [row, all] = [...arguments].map((id) => document.getElementById(id).getBoundingClientRect().bottom);"
    assert page.js(f"{code} return row <= all + 1", f"row-{last}", "outline")
    assert page.count("#outline [role=treeitem]") < 80


def test_a_closed_branch_says_how_many_nodes_it_hides(chromium: Any, tmp_path: Path) -> None:
    from viewed import wide

    hook = "const draw = CanvasRenderingContext2D.prototype.fillText; window.drawn = new Set();"
    hook += "CanvasRenderingContext2D.prototype.fillText = function (text, ...place) "
    hook += "{ window.drawn.add(text); return draw.call(this, text, ...place); };"
    added = chromium.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": hook})
    try:
        page = Page(chromium, view(wide(5_002, branching=1), to=tmp_path / "chain.html"))
        page.js("window.drawn.clear()")
        page.click("#collapse-all")
        drawn = "const found = [...window.drawn].filter((text) => /^[+][0-9]+k?$/.test(text));"
        signs = page.until(f"{drawn} return found.length && found")
        assert signs == ["+5k"]  # those below the first step
    finally:
        chromium.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
