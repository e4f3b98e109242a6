#!/usr/bin/env python3
"""attn-translate keeps lines, whatever is in them and whatever happens to it: adversarial texts through all
kinds of batches, threads and inputs; killed and resumed; in conversation; with too little memory.

    lines_test.py FOLDER_OF_THE_PROGRAMS [SEED]
"""
import glob
import gzip
import hashlib
import json
import os
import pathlib
import pty
import random
import select
import signal
import subprocess
import sys
import tempfile
import time

programs = pathlib.Path(sys.argv[1]).resolve()
seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 32)
backend = "eigen" if glob.glob(f"{programs}/../lib/attn/backends/libattn-backend-eigen*.so") else "reference"
print(f"seed {seed}, backend {backend}")
chance = random.Random(seed)
failures = []


def check(right, what):
    if not right:
        failures.append(what)
        print(f"FAILED: {what} (seed {seed})", file=sys.stderr, flush=True)


def same(found, expected, what):
    check(found == expected, f"{what}: found {found!r}, expected {expected!r}")


def command(*arguments, using=None):
    length = [] if "--score" in arguments else ["--max-length", "12"]
    return [programs / "attn-translate", using or model, "--backend", backend, *length, *map(str, arguments)]


def run(status, what, *arguments, using=None, **keywords):
    """Standard output; complains of another exit status."""
    done = subprocess.run(command(*arguments, using=using), capture_output=True, timeout=120, check=False,
                          **({} if "input" in keywords else {"stdin": subprocess.DEVNULL}), **keywords)
    same(done.returncode, status, f"exit status of {what} ({done.stderr.decode(errors='replace')[-500:]})")
    run.stderr = done.stderr.decode(errors="replace")
    return done.stdout


def train(name="letters", width=16, feed_forward=16, longest=60):
    """A model of characters that hardly knows what it does, and so writes something for everything."""
    pairs = [f"{a} {b} {c}\t{c} {b} {a}\n" for a in "ab" for b in "cdé" for c in "😀fg"]
    pathlib.Path("pairs.tsv").write_text("".join(pairs), encoding="utf-8")
    pathlib.Path("config.yaml").write_text(f"""
name: {name}
run_root: runs
seed: 3
backend: {{name: {backend}, threads: 1}}
data: {{train: pairs.tsv, source_tokenizer: character, target_tokenizer: character, max_length: {longest}}}
model: {{type: transformer, hidden_size: {width}, feed_forward_size: {feed_forward}, encoder_layers: 1, decoder_layers: 1, heads: 2, dropout: 0.0}}
training: {{epochs: 3, batch_size: 8, optimizer: adam, learning_rate: 0.01}}
validation: {{every_epochs: 0}}
report: {{sample_count: 0}}
""", encoding="utf-8")
    subprocess.run([programs / "attn-train", "config.yaml", "--quiet"], check=True, timeout=120)
    return f"runs/{name}"


strange = ["", " ", "\t", "\r", "\r\r", "a\rb", "\x00", "a\x00b", "\ufeff", "a\ufeffb", "\u2028", "a\u2028b", "\x85",
           "a\x85b", "\v", "a\vb", "\f", "a\fb", "\u2029", "\xa0", "a\tb", "😀", "👩‍👩‍👧‍👦 é", "e\u0301\u0323", "\u0301", "\ud7ff",
           "\U0010ffff", "\x1b[31m", "<eos>", "<unk>", "\\n", "|||", "ﬁ", "\u200b", "\x1c", "‮abc"]
invalid = [b"\xff", b"a\xfe b", b"\xc3", b"\xe2\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf", b"a\x80"]


def strange_line():
    kind = chance.random()
    if kind < 0.25:
        return chance.choice(strange).encode()
    if kind < 0.35:
        return chance.choice(invalid)
    if kind < 0.55:
        return " ".join(chance.choice(strange + list("abcdefg")) for _ in range(chance.randrange(12))).encode()
    return " ".join(chance.choice("abcdefg") for _ in range(chance.randrange(1, 20))).encode()


def strange_text(lines):
    """Bytes, and how many lines they are."""
    made = [strange_line() for _ in range(lines)]
    if chance.random() < 0.5:
        made.insert(chance.randrange(len(made) + 1), b" ".join([b"a"] * 10000))  # 10,000 words
        made.insert(chance.randrange(len(made) + 1), b"b" * 30000)  # no space
    text = b"".join(line + chance.choice([b"\n", b"\n", b"\r\n"]) for line in made)
    if chance.random() < 0.5:
        text = b"\xef\xbb\xbf" + text
    if chance.random() < 0.5 and made[-1]:
        text = text[:-1]
    return text


def line_count(text):
    lines = text.count(b"\n") + (not text.endswith(b"\n") and text not in (b"", b"\xef\xbb\xbf"))
    return lines


def summary():
    return json.loads(pathlib.Path("summary.json").read_text(encoding="utf-8"))


def check_summary(what, text, output):
    told = summary()
    same((told["lines_in"], told["lines_out"]), (line_count(text), line_count(text)), f"summary of {what}")
    same(told["input"]["sha256"], hashlib.sha256(text).hexdigest(), f"sha256 of the input of {what}")
    same(told["output"]["sha256"], hashlib.sha256(output).hexdigest(), f"sha256 of the output of {what}")
    check(told["complete"], f"the summary of {what} is not complete")
    return told


def test_texts():
    fixed = [b"", b"\n", b"\n\n\n", b"\r\n", b"a", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n", b"\xef\xbb\xbfa\n\xef\xbb\xbfb", b"\r",
             b"a\n\n", b"\x00", b"\x1f\n", b"a b c d\r\n\r\ne", "\n".join(strange).encode(), b"\n".join(invalid)]
    for number, text in enumerate(fixed + [strange_text(chance.randrange(1, 60)) for _ in range(4)]):
        what = f"text {number}"
        pathlib.Path("in.txt").write_bytes(text)
        expected_status = None
        outputs = {}
        for options in (["--batch-size", 1, "--threads", 1], ["--threads", 1], ["--threads", 3, "--window", 7],
                        ["--threads", 2, "--batch-tokens", chance.randrange(1, 400)],
                        ["--window", chance.randrange(1, 20), "--batch-size", chance.randrange(1, 9)]):
            done = subprocess.run(command("-i", "in.txt", "--summary", "summary.json", *options), check=False,
                                  capture_output=True, timeout=120)
            expected_status = done.returncode if expected_status is None else expected_status
            same(done.returncode, expected_status, f"exit status of {what} with {options}")
            outputs[str(options)] = done.stdout
            told = check_summary(f"{what} with {options}", text, done.stdout)
            bad = told["cropped_lines"] + told["invalid_utf8_lines"]
            same(done.returncode, 7 if bad else 0, f"exit status of {what} ({bad} bad lines): {done.stderr}")
        outputs["standard input"] = run(expected_status, what, input=text)
        pathlib.Path("in.gz").write_bytes(gzip.compress(text))
        outputs["gz"] = run(expected_status, f"{what}, gz", "-i", "in.gz")
        outputs["flush"] = run(expected_status, f"{what}, --flush", "--flush", "-i", "in.txt")
        run(expected_status, f"{what}, a file", "-i", "in.txt", "-o", "out.txt", "--resume")
        outputs["a file"] = pathlib.Path("out.txt").read_bytes()
        first = next(iter(outputs.values()))
        same(first.count(b"\n"), line_count(text), f"lines of {what}")
        for name, output in outputs.items():
            check(output == first, f"{what}: {name} gives another output")


def test_killed():
    text = b"".join(b"%s\n" % strange_line() for _ in range(6000))
    pathlib.Path("in.txt").write_bytes(text)
    pathlib.Path("out.txt").unlink(missing_ok=True)
    options = ["-i", "in.txt", "--beam", "2", "--window", "20", "--threads", "2", "--quiet"]
    start = time.monotonic()
    expected = run(7, "the uninterrupted run", *options)
    duration = time.monotonic() - start
    for old in (None, b"old\n"):
        if old:
            pathlib.Path("out.txt").write_bytes(old)
        kills = resumptions = 0
        patience = duration
        while True:
            with subprocess.Popen(command(*options, "-o", "out.txt", "--resume", "--summary", "summary.json")) as process:
                try:
                    # Longer and longer, for a machine that became slower meanwhile.
                    process.wait(chance.uniform(0.1, 0.9) * patience * (1 + kills / 8))
                except subprocess.TimeoutExpired:
                    process.send_signal(chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT]))
                    process.wait()
                    kills += 1
            if process.returncode not in (-signal.SIGKILL, -signal.SIGINT, 130):
                if resumptions > 0 or patience < duration / 100:
                    break
                # It was faster than the run that was timed: once more, with less patience.
                patience /= 2
                kills = 0
                pathlib.Path("out.txt").unlink(missing_ok=True)
                if old:
                    pathlib.Path("out.txt").write_bytes(old)
                continue
            found = pathlib.Path("out.txt").read_bytes() if os.path.exists("out.txt") else None
            # Killed after the last moment, a run has already put the complete file in place.
            check(found in (old, expected), f"the output file of a killed run: found {found!r}, expected {old!r}")
            part = pathlib.Path("out.txt.part")
            if os.path.exists("out.txt.part.json") and part.exists():
                resumptions += 1
                with part.open("ab") as file:  # a torn line
                    file.write(b"torn")
            if kills > 60:
                break
        same(process.returncode, 7, "exit status of the last run")
        check(pathlib.Path("out.txt").read_bytes() == expected, f"after {kills} kills the output differs")
        check_summary("the resumed run", text, expected)
        check(not glob.glob("out.txt.*"), f"files are left over: {glob.glob('out.txt.*')}")
        check(kills > 0 and resumptions > 0, f"{kills} kills, {resumptions} resumptions: nothing is tested")
        print(f"{kills} kills, {resumptions} resumptions")


def interrupt(*arguments):
    """Ends a run after some lines."""
    with subprocess.Popen(command(*arguments, "-o", "out.txt"), stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(b"a b c\nd e f\n")
        process.stdin.flush()
        for _ in range(100):
            if os.path.exists("out.txt.part.json"):
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        message = process.stderr.read().decode()
        same(process.wait(), 130, "exit status of an interrupted run")
        check("--resume" in message, f"an interrupted run does not tell of --resume: {message}")


def test_refusals():
    pathlib.Path("out.txt").unlink(missing_ok=True)
    interrupt()
    text = b"a b c\nd e f\ng\n"
    run(2, "a part file without --resume", "-o", "out.txt", input=text)
    check("--resume" in run.stderr and "out.txt.part" in run.stderr, f"no remedy in: {run.stderr}")
    run(2, "other options", "-o", "out.txt", "--resume", "--beam", 3, input=text)
    check("--beam" in run.stderr, f"the option that differs is not named: {run.stderr}")
    for other in (b"a b c\nd e\ng\n", b"a b c\n"):
        run(4, "another input", "-o", "out.txt", "--resume", input=other)
        check("another input" in run.stderr, f"another input is not told of: {run.stderr}")
    saved = pathlib.Path("out.txt.part").read_bytes()
    pathlib.Path("out.txt.part").write_bytes(b"X" + saved[1:])
    run(5, "a changed part file", "-o", "out.txt", "--resume", input=text)
    pathlib.Path("out.txt.part").write_bytes(saved)
    record = pathlib.Path("out.txt.part.json").read_text()
    pathlib.Path("out.txt.part.json").write_text(record[:40])
    run(5, "a damaged record", "-o", "out.txt", "--resume", input=text)
    pathlib.Path("out.txt.part.json").write_text(record)
    run(0, "the same again", "-o", "out.txt", "--resume", "--threads", 2, "--batch-size", 1, input=text)
    same(pathlib.Path("out.txt").read_bytes(), run(0, "at once", input=text), "a resumed run from a pipe")
    run(2, "--resume without a file", "--resume", input=b"")
    prefixes, begun = pathlib.Path("prefixes.txt"), ("--prefix", "prefixes.txt")
    prefixes.write_text("a\n\n\n")
    pathlib.Path("out.txt").unlink()
    interrupt(*begun)
    prefixes.write_text("b\n\n\n")
    run(2, "other prefixes", "-o", "out.txt", "--resume", *begun, input=text)
    check("SHA-256 of --prefix" in run.stderr, f"prefixes that differ are not named: {run.stderr}")
    prefixes.write_text("a\n\n\n")
    run(0, "the same prefixes", "-o", "out.txt", "--resume", *begun, input=text)


def read_line(descriptor, seconds=20):
    line = b""
    end = time.monotonic() + seconds
    while not line.endswith(b"\n") and time.monotonic() < end:
        if select.select([descriptor], [], [], 0.2)[0]:
            line += os.read(descriptor, 1)
    return line


def test_conversation():
    lines = [b"\n", b"a b c\n", b"\n", b"d e f g\n", b"\x1f\n", b"b\n"]
    expected = run(0, "a conversation at once", input=b"".join(lines)).splitlines(keepends=True)
    for options in ([], ["--flush"]):
        with subprocess.Popen(command(*options), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
            for line, answer in zip(lines, expected):
                process.stdin.write(line)
                same(read_line(process.stdout.fileno()), answer, f"the answer to {line} through a pipe")
            process.stdin.close()
            same(process.wait(20), 0, "exit status of a conversation")
    master, slave = pty.openpty()
    with subprocess.Popen(command(), stdin=slave, stdout=subprocess.PIPE, bufsize=0) as process:
        for line, answer in zip(lines, expected):
            os.write(master, line)
            same(read_line(process.stdout.fileno()), answer, f"the answer to {line} on a terminal")
        os.write(master, b"\x04")  # the end of input, once
        same(process.wait(20), 0, "exit status of a conversation on a terminal")
    with subprocess.Popen(command("--threads", "2"), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        process.stdin.write(b"a b c\n" * 20000)
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        same(process.wait(20), 130, "exit status after SIGINT")


def test_memory():
    # Wide enough for a long line to need megabytes, and for the others to do with a part of one.
    wide = train("wide", 64, 512, 2000)
    lines = [b"a b"] * 30 + [b"c" * 1500] + [b"d e"] * 30
    text = b"\n".join(lines) + b"\n"
    pathlib.Path("in.txt").write_bytes(text)
    arguments = ["-i", "in.txt", "--beam", 2]
    everything = run(0, "with enough memory", *arguments, using=wide).splitlines()
    seen = set()
    for limit in (1, 2, 4, 8, 64):
        done = subprocess.run(command(*arguments, "--threads", 1, "--memory-limit", limit, "--summary", "summary.json", using=wide),
                              capture_output=True, timeout=120, check=False)
        if done.returncode == 6:  # not even the model fits
            seen.add("none")
            continue
        found = done.stdout.splitlines()
        missing = summary()["out_of_memory_lines"]
        same(len(found), len(lines), f"lines with {limit} MiB")
        same(done.returncode, 7 if missing else 0, f"exit status with {limit} MiB")
        different = [a for a, b in zip(found, everything) if a != b]
        check(not any(different) and len(different) <= missing, f"lines that differ with {limit} MiB: {different}")
        if missing:
            check(b"in.txt:31:" in done.stderr and b"memory" in done.stderr, f"no warning: {done.stderr}")
        seen.add("all" if missing == 0 else "some")
    print("memory:", sorted(seen))
    check({"all", "some"} <= seen, f"no limit is in between: {seen}")


def test_scores():
    sources = b"".join(b"%s\n" % strange_line() for _ in range(100))
    targets = b"".join(b"%s\n" % chance.choice([b"a b", b"", b"c \xff", b"d"]) for _ in range(100))
    pathlib.Path("in.txt").write_bytes(sources)
    pathlib.Path("targets.txt").write_bytes(targets)
    outputs = {run(7, f"scores, {options}", "-i", "in.txt", "--score", "targets.txt", *options)
               for options in (["--threads", 1], ["--threads", 3, "--window", 9], ["--batch-size", 1])}
    outputs.add(run(7, "scores of standard input", "--score", "targets.txt", input=sources))
    same(len(outputs), 1, "different scores")
    same(outputs.pop().count(b"\n"), 100, "lines of scores")
    run(4, "a target less", "--score", "targets.txt", input=sources + b"a\n")
    check("101 lines" in run.stderr and "100;" in run.stderr, f"unequal counts: {run.stderr}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    model = train()
    for test in (test_texts, test_killed, test_refusals, test_conversation, test_memory, test_scores):
        begin = time.monotonic()
        test()
        print(f"{test.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
    os.chdir("/")
sys.exit(1 if failures else 0)
