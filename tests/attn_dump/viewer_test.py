#!/usr/bin/env python3
"""The page of attn-dump html in headless Chromium, compared with what h5py reads from the archive.

    viewer_test.py ATTN_DUMP [FOLDER]      FOLDER: where screenshots go

Ends with status 77 (skipped) where Chromium or a Python module is missing.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

try:
    import h5py
    import numpy
    import browser
except ImportError as missing:
    print(f"skipped: {missing}; install python3-h5py and python3-websocket")
    sys.exit(77)
if browser.find_chromium() is None:
    print("skipped: chromium is not installed")
    sys.exit(77)

here = pathlib.Path(__file__).parent
program = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else None
screenshots = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
KINDS = ("encoder_self", "decoder_self", "cross")


class Viewer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="attn-viewer-test-")
        archive = os.path.join(cls.folder.name, "odd & <names>.h5")
        subprocess.run([sys.executable, here / "make_archive.py", archive], check=True)
        subprocess.run([program, "html", archive, "--quiet"], check=True)
        cls.url = pathlib.Path(archive).with_suffix(".html").as_uri()
        cls.file = h5py.File(archive)
        cls.page = browser.Page()

    @classmethod
    def tearDownClass(cls):
        cls.page.close()
        cls.file.close()
        cls.folder.cleanup()

    def open(self, state):
        self.page.open(f"{self.url}#{state}")

    def tearDown(self):
        self.assertEqual(self.page.complaints(), [])
        outside = [url for url in self.page.requests() if not url.startswith((self.url, "data:", "blob:"))]
        self.assertEqual(outside, [], "the page requested something")

    def stored(self, kind, sentence):
        group = self.file[f"attention/{kind}"]
        begin, end = group["offset"][sentence], group["offset"][sentence + 1]
        shape = (len(group["layer_index"]), len(group["head_index"]), group["query_length"][sentence],
                 group["key_length"][sentence])
        return group["weights"][begin:end].reshape(shape)

    def place_of(self, query, key):
        """The point of the window where the cell's middle is, scrolled into view."""
        return self.page.evaluate(f"""(() => {{
            const map = document.getElementById('map'), {{ left, top, cell }} = map.dataset;
            const x = Number(left) + ({key} + 0.5) * cell, y = Number(top) + ({query} + 0.5) * cell;
            const frame = map.closest('.scroll');
            map.scrollIntoView();
            frame.scrollLeft = x - 100;
            frame.scrollTop = y - 100;
            window.scrollBy(0, -150);
            const box = map.getBoundingClientRect();
            return [box.left + x, box.top + y];
        }})()""")

    def hovered(self, query, key):
        self.page.move_to(1, 1)
        self.page.move_to(*self.place_of(query, key))
        readout = self.page.evaluate("({...document.getElementById('readout').dataset})")
        self.assertEqual((readout.get("query"), readout.get("key")), (str(query), str(key)))
        return readout["value"]

    def shape(self):
        return tuple(self.page.evaluate("(({rows, columns}) => [Number(rows), Number(columns)])"
                                        "(document.getElementById('map').dataset)"))

    def choose(self, control, value):
        self.page.evaluate(f"""(() => {{
            const element = document.getElementById('{control}');
            element.value = '{value}';
            element.dispatchEvent(new Event('change', {{ bubbles: true }}));
        }})()""")

    def hash(self):
        return self.page.evaluate("Object.fromEntries(new URLSearchParams(location.hash.slice(1)))")

    def text(self, identifier):
        return self.page.evaluate(f"document.getElementById('{identifier}').textContent")

    def colour(self, query, key):
        return tuple(self.page.evaluate(f"""(() => {{
            const map = document.getElementById('map'), {{ left, top, cell }} = map.dataset;
            const x = Number(left) + ({key} + 0.5) * cell, y = Number(top) + ({query} + 0.5) * cell;
            return [...map.getContext('2d').getImageData(x, y, 1, 1).data].slice(0, 3);
        }})()"""))

    def picture(self, name):
        if screenshots:
            screenshots.mkdir(parents=True, exist_ok=True)
            self.page.screenshot(screenshots / f"{name}.png")

    def test_hover_shows_exactly_what_the_archive_holds(self):
        random = numpy.random.default_rng(0)
        for kind in KINDS:
            for sentence in (0, 2, 3, 4):
                weights = self.stored(kind, sentence)
                layer, head, query, key = (random.integers(extent) for extent in weights.shape)
                if kind == "decoder_self":
                    key = min(key, query)
                self.open(f"sentence={sentence}&kind={kind}&layer={layer}&head={head}")
                self.assertEqual(self.shape(), weights.shape[2:])
                value = numpy.float32(self.hovered(query, key))
                self.assertEqual(value, weights[layer, head, query, key], (kind, sentence, layer, head, query, key))

    def test_cells_can_be_reached_by_keyboard(self):
        weights = self.stored("cross", 0)
        self.open("sentence=0&kind=cross&layer=1&head=2")
        self.page.evaluate("document.getElementById('map').focus()")
        read = lambda: numpy.float32(self.page.evaluate("document.getElementById('readout').dataset.value"))
        for key in range(weights.shape[3]):
            self.page.press("ArrowRight")
            self.assertEqual(read(), weights[1, 2, 0, key])
        for query in range(1, weights.shape[2]):
            self.page.press("ArrowDown")
            self.assertEqual(read(), weights[1, 2, query, -1])
        self.page.press("Enter")
        self.assertEqual(self.hash()["query"], str(weights.shape[2] - 1))

    def test_masked_cells_are_said_and_never_coloured_as_zero(self):
        self.open("sentence=0&kind=decoder_self")
        self.assertEqual(self.hovered(0, 2), "masked")
        self.assertGreater(min(self.colour(0, 2)), 120)
        self.picture("decoder-self")

    def test_controls_choose_sentence_kind_layer_and_head(self):
        self.open("")
        self.assertEqual(self.hash(), {})
        for control, value in (("sentence", "4"), ("kind", "encoder_self"), ("layer", "1"), ("head", "2")):
            self.choose(control, value)
        self.assertEqual(self.hash(), {"sentence": "4", "kind": "encoder_self", "layer": "1", "head": "2"})
        weights = self.stored("encoder_self", 4)
        self.assertEqual(numpy.float32(self.hovered(1, 3)), weights[1, 2, 1, 3])

    def test_keys_move_through_everything(self):
        self.open("sentence=0&kind=cross&layer=0&head=0")
        for key in ("ArrowRight", "ArrowDown", "c", "s", "w", "+"):
            self.page.press(key)
        self.assertEqual(self.hash(), {"sentence": "0", "kind": "cross", "layer": "1", "head": "1", "scale": "row",
                                       "hide": "1", "merge": "1", "zoom": "2"})
        for key in ("[", "]", "]", "k", "ArrowLeft", "ArrowUp"):
            self.page.press(key)
        found = self.hash()
        self.assertEqual((found["sentence"], found["layer"], found["head"]), ("1", "0", "0"))
        self.assertNotEqual(found["kind"], "cross")

    def test_state_is_read_from_the_address_and_nonsense_is_ignored(self):
        self.open("sentence=99&kind=nothing&layer=-7&head=x&scale=loud&query=1000&zoom=1e9&sort=none")
        self.assertEqual(self.page.evaluate("document.getElementById('views').hidden"), False)
        self.page.evaluate("location.hash = 'sentence=2&kind=cross&layer=1&head=mean&query=1'")
        time.sleep(0.2)
        self.assertEqual(self.page.evaluate("document.getElementById('head').value"), "mean")
        self.assertEqual(self.page.evaluate("document.querySelectorAll('#query-text [aria-pressed=true]').length"), 1)

    def test_derived_maps_are_right_and_labelled(self):
        weights = self.stored("encoder_self", 0).astype("f8")
        self.open("sentence=0&kind=encoder_self&layer=1&head=mean")
        self.assertIn("derived: mean over 3 heads of layer 1", self.text("notes"))
        self.assertAlmostEqual(float(self.hovered(2, 3)), weights[1, :, 2, 3].mean(), delta=1e-6)
        self.choose("head", "max")
        self.assertIn("derived: largest of 3 heads of layer 1", self.text("notes"))
        self.assertAlmostEqual(float(self.hovered(2, 3)), weights[1, :, 2, 3].max(), delta=1e-6)
        self.choose("head", "rollout")
        self.assertIn("derived: rollout through layers 0, 1", self.text("notes"))
        steps = 0.5 * weights.mean(1) + 0.5 * numpy.eye(weights.shape[2])
        rollout = (steps[1] / steps[1].sum(-1, keepdims=True)) @ (steps[0] / steps[0].sum(-1, keepdims=True))
        self.assertAlmostEqual(float(self.hovered(2, 3)), rollout[2, 3], delta=1e-6)
        self.choose("head", "0")
        self.assertNotIn("derived", self.text("notes"))
        self.choose("kind", "cross")
        self.assertEqual(self.page.evaluate("[...document.getElementById('head').options].map((o) => o.value)"),
                         ["0", "1", "2", "mean", "max"])

    def test_special_tokens_can_be_hidden_and_rows_are_renormalised(self):
        self.open("sentence=0&kind=cross&layer=0&head=0")
        self.page.evaluate("document.getElementById('hide').click()")
        weights = self.stored("cross", 0)[0, 0].astype("f8")[:-1, :-1]
        self.assertEqual(self.shape(), weights.shape)
        self.assertIn("rows renormalised over the keys that are shown", self.text("notes"))
        self.assertAlmostEqual(float(self.hovered(3, 1)), weights[3, 1] / weights[3].sum(), delta=1e-6)

    def test_subwords_merge_into_words(self):
        self.open("sentence=4&kind=cross&layer=0&head=0&merge=1")
        weights = self.stored("cross", 4)[0, 0].astype("f8")
        # un|believ|able stories , told <eos>; un|glaub|liche Geschichten <eos>
        self.assertEqual(self.shape(), (3, 5))
        self.assertAlmostEqual(float(self.hovered(0, 0)), weights[:3, :3].sum(1).mean(), delta=1e-6)
        self.assertAlmostEqual(float(self.hovered(1, 1)), weights[3, 3], delta=1e-6)
        self.assertIn("unbelievable", self.text("key-text"))
        self.assertIn("sum over keys, mean over queries", self.text("notes"))

    def test_chinese_words_are_not_merged_into_one(self):
        self.open("sentence=2&kind=encoder_self&merge=1")
        self.assertEqual(self.shape(), (6, 6))

    def test_scales(self):
        self.open("sentence=0&kind=cross&layer=0&head=0&scale=row")
        weights = self.stored("cross", 0)[0, 0]
        self.assertEqual(self.colour(0, int(weights[0].argmax())), (0xfd, 0xe7, 0x25))
        viridis = self.page.evaluate("JSON.parse(document.getElementById('archive').textContent).viridis")
        entry = lambda part: tuple(bytes.fromhex(viridis[6 * int(part * 255 + 0.5):][:6]))
        self.choose("scale", "fixed")
        self.assertEqual(self.colour(2, 3), entry(weights[2, 3]))
        self.choose("scale", "log")
        self.assertEqual(self.colour(2, 3), entry(max(0, 1 + numpy.log10(weights[2, 3]) / 4)))

    def test_choosing_a_token_tints_what_it_attends_to(self):
        self.open("sentence=0&kind=cross&layer=0&head=0")
        weights = self.stored("cross", 0)[0, 0]
        self.page.evaluate("document.querySelectorAll('#query-text button')[1].click()")
        self.assertEqual(self.hash()["query"], "1")
        titles = self.page.evaluate("[...document.querySelectorAll('#key-text .token')].map((token) => token.title)")
        self.assertTrue((numpy.array(titles, "f4") == weights[1]).all(), titles)
        tints = self.page.evaluate("[...document.querySelectorAll('#key-text .token')].map("
                                   "(token) => parseFloat(token.style.backgroundColor.split(',')[3] ?? '1'))")
        numpy.testing.assert_allclose(tints, weights[1], atol=0.005)
        lines = self.page.evaluate("document.querySelectorAll('#lines line').length")
        self.assertEqual(lines, int((weights[1] >= 0.01).sum()))
        self.page.press("Escape")
        self.assertNotIn("query", self.hash())
        self.page.click(*self.place_of(3, 2))
        self.assertEqual(self.hash()["query"], "3")

    def test_statistics_agree_with_the_archive_and_sort(self):
        self.open("sentence=0&kind=cross")
        rows = lambda: self.page.evaluate("[...document.querySelectorAll('#statistics tbody tr')].map("
                                          "(row) => [...row.cells].map((cell) => Number(cell.textContent)))")
        weights = self.stored("cross", 0).astype("f8")
        queries, keys = weights.shape[2:]
        distance = numpy.abs(numpy.arange(keys) - numpy.arange(queries)[:, None])
        band = numpy.abs(numpy.arange(keys) - numpy.arange(queries)[:, None] * (keys - 1) / (queries - 1)) <= 1
        for layer, head, entropy, far, diagonal, special, largest in rows():
            each = weights[int(layer), int(head)]
            self.assertAlmostEqual(entropy, self.file["attention/cross/entropy"][0, int(layer), int(head)], delta=1e-4)
            self.assertAlmostEqual(far, (each * distance).sum(-1).mean(), delta=1e-4)
            self.assertAlmostEqual(diagonal, (each * band).sum(-1).mean(), delta=1e-4)
            self.assertAlmostEqual(special, each[:, -1].mean(), delta=1e-4)
            self.assertAlmostEqual(largest, each.max(-1).mean(), delta=1e-4)
        click = "document.querySelector('#statistics th[data-measure=entropy] button').click()"
        self.page.evaluate(click)
        column = [row[2] for row in rows()]
        self.assertEqual(column, sorted(column, reverse=True))
        self.page.evaluate(click)
        column = [row[2] for row in rows()]
        self.assertEqual(column, sorted(column))
        self.assertEqual(self.hash()["sort"], "entropy")

    def test_overview_has_every_layer_and_head_and_chooses(self):
        self.open("sentence=0&kind=cross&layer=0&head=0")
        self.assertEqual(self.page.evaluate("document.querySelectorAll('#overview canvas').length"), 6)
        self.page.evaluate("document.querySelector('#overview button[data-layer=\"1\"][data-head=\"2\"]').click()")
        self.assertEqual((self.hash()["layer"], self.hash()["head"]), ("1", "2"))

    def test_pictures_can_be_saved(self):
        self.open("sentence=3&kind=cross&layer=0&head=1")
        self.page.evaluate("document.getElementById('save-svg').click()")
        self.page.evaluate("document.getElementById('save-png').click()")
        root = xml.etree.ElementTree.parse(self.page.downloaded("-3-cross-layer0-head1.svg")).getroot()
        texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("</script>", texts)
        self.assertIn("<svg/onload=alert(1)>", texts)
        with open(self.page.downloaded("-3-cross-layer0-head1.png"), "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")

    def test_markup_in_tokens_is_text(self):
        self.open("sentence=3&kind=encoder_self&query=0")
        shown = self.page.evaluate("[...document.querySelectorAll('#query-text .token')].map((t) => t.textContent)")
        self.assertEqual(shown, ["</script>", "&", "<b>", "↵", "{{data}}", "<!--", "a␉b", "\"q'", "e\u0301",
                                 "◌\u0301x", "\\", "</style>", "<eos>"])
        self.assertEqual(self.page.evaluate("document.querySelectorAll('b:not(#sentence-text b), svg[onload]').length"),
                         0)
        self.assertEqual(self.text("file-name"), "odd & <names>.h5")
        source = self.page.evaluate("JSON.parse(document.getElementById('archive').textContent).sentences[3].source")
        self.assertEqual(source, self.file["sentences/source_text"].asstr()[3])
        self.picture("markup")

    def test_other_scripts(self):
        self.open("sentence=2&kind=cross&layer=0&head=1&query=0")
        self.assertIn("喜歡", self.text("key-text"))
        self.assertIn("قطتك", self.text("query-text"))
        self.assertEqual(self.page.evaluate("document.getElementById('views').lang"), "zh")
        self.picture("scripts")

    def test_more_than_128_tokens_stay_usable(self):
        begin = time.monotonic()
        self.open("sentence=5&kind=cross&layer=1&head=1&query=3")
        weights = self.stored("cross", 5)
        self.assertEqual(weights.shape[2:], (140, 150))
        self.assertEqual(numpy.float32(self.hovered(139, 149)), weights[1, 1, 139, 149])
        self.assertEqual(numpy.float32(self.hovered(70, 75)), weights[1, 1, 70, 75])
        self.page.press("]")
        self.page.press("[")
        self.assertLess(time.monotonic() - begin, 20)
        wider = self.page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
        self.assertFalse(wider, "the page scrolls sideways")
        self.page.evaluate("document.querySelectorAll('#query-text button')[3].click()")
        self.picture("long")

    def test_an_empty_line_says_so(self):
        self.open("sentence=1")
        self.assertIn("Line 2 has no tokens", self.text("message"))
        self.assertTrue(self.page.evaluate("document.getElementById('views').hidden"))

    def test_sentences_are_found_by_their_text(self):
        self.open("sentence=0")
        self.page.evaluate("""(() => {
            document.getElementById('find').value = 'GESCHICHTEN';
            document.getElementById('find').dispatchEvent(new Event('input'));
        })()""")
        options = self.page.evaluate("[...document.getElementById('sentence').options].map((option) => option.value)")
        self.assertEqual(options, ["0", "4"])

    def test_the_policy_blocks_what_is_not_the_page_s_own(self):
        self.open("sentence=0")
        self.page.evaluate("""(() => {
            const script = document.createElement('script');
            script.textContent = 'window.ran = true';
            document.body.append(script);
        })()""")
        self.assertIsNone(self.page.evaluate("window.ran"))
        self.assertEqual(self.page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')"), "refused")
        complaints = self.page.complaints()
        self.assertTrue(complaints and all("Content Security Policy" in str(entry) for entry in complaints), complaints)
        self.page.events.clear()


if __name__ == "__main__":
    if program is None:
        sys.exit(__doc__)
    unittest.main(argv=sys.argv[:1])
