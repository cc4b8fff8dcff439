"""Look around in a directory: what is big, where something is still to do, which modules no test knows.

This is the body of an async function. All it can reach is `tools`; each call goes through the host's policies.
"""

import asyncio
import re
import time
from collections import Counter, defaultdict

DIRECTORIES, SECONDS = 60, 20  # look at most at so many, and for so long: it is a demo
SKIP = {"node_modules", "__pycache__", "venv", "dist", "build", "target", "site-packages", "vendor"}
SUFFIXES = "py js jsx ts tsx go rs c h cpp java rb php sh md".split()
SOURCES = "*.{" + ",".join(SUFFIXES) + "}"
started = time.monotonic()


async def look(directory):
    try:
        return await tools.fs.list(directory, limit=2000)
    except ToolCallError as error:  # not ours to read: go on with the rest
        print(f"skipped {directory}: {error.message}")
        return []


# 1. List directory after directory, eight at a time.
files, seen, waiting = [], 0, ["."]
while waiting and seen < DIRECTORIES and time.monotonic() - started < SECONDS:
    batch, waiting = waiting[:8], waiting[8:]
    for directory, entries in zip(batch, await asyncio.gather(*map(look, batch))):
        seen += 1
        files += [entry for entry in entries if entry["kind"] == "file"]
        waiting += [
            entry["path"]
            for entry in entries
            if entry["kind"] == "dir" and entry["name"] not in SKIP and not entry["name"].startswith(".")
        ]


# 2. Search for markers: file by file where there are few, else directory by directory.
async def markers(path):
    if time.monotonic() - started > SECONDS:
        return []
    try:
        return await tools.fs.grep(r"\b(TODO|FIXME|XXX|HACK)\b", path, glob=SOURCES, limit=50)
    except ToolCallError as error:
        print(f"not searched {path}: {error.message}")
        return []


def folder(entry):
    return entry["path"].rpartition("/")[0] or "."


sources = [entry for entry in files if entry["name"].rpartition(".")[2].lower() in SUFFIXES and entry["size"]]
places = [entry["path"] for entry in sources] if len(sources) <= 60 else sorted({folder(entry) for entry in sources})
found = [line for lines in await asyncio.gather(*map(markers, places)) for line in lines]

# 3. Python modules that have no test file of their name: does any test mention them?
def is_test(name):
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def stem(module):
    return module["name"][:-3].strip("_")


names = {entry["name"] for entry in files}
modules = [
    entry
    for entry in sorted(files, key=lambda entry: -entry["size"])
    if entry["name"].endswith(".py") and entry["name"][:-3].isidentifier() and entry["size"] > 200
    if not is_test(entry["name"]) and not entry["name"].startswith(("__", "conftest", "setup"))
    if not any(part in ("test", "tests") for part in entry["path"].split("/"))
]
doubtful = [module for module in modules if not {f"test_{stem(module)}.py", f"{stem(module)}_test.py"} & names][:12]


async def mentioned_in(directory):
    words = "|".join(re.escape(stem(module)) for module in doubtful)
    try:
        lines = await tools.fs.grep(rf"\b_*({words})\b", directory, glob="{test_*,*_test}.py", limit=5000)
    except ToolCallError as error:
        print(f"not searched {directory}: {error.message}")
        return set()
    return {module["path"] for module in doubtful for line in lines if re.search(rf"\b_*{stem(module)}\b", line["text"])}


where_tests_are = sorted({folder(entry) for entry in files if is_test(entry["name"])})
mentions = await asyncio.gather(*map(mentioned_in, where_tests_are if doubtful else []))
untested = [module["path"] for module in doubtful if not any(module["path"] in known for known in mentions)]

# 4. Put the answer together: only this text goes back.
by_kind = defaultdict(list)
for entry in files:
    kind = entry["name"].rpartition(".")[2].lower() if "." in entry["name"][1:] else "no suffix"
    by_kind[kind].append(entry)
total = sum(entry["size"] for entry in files)


def size(count):
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000


more = f" ({len(waiting)} more not looked at)" if waiting else ""
answer = [f"{len(files)} files, {size(total)}, in {seen} directories{more}"]
if files:
    answer += ["", "Biggest, by kind"]
    for kind, entries in sorted(by_kind.items(), key=lambda item: -sum(e["size"] for e in item[1]))[:6]:
        largest = max(entries, key=lambda entry: entry["size"])
        of_kind = size(sum(entry["size"] for entry in entries))
        answer.append(f"  {kind:<10} {len(entries):>5} files {of_kind:>9}   {largest['path']} ({size(largest['size'])})")
answer += ["", f"Markers: {len(found)} lines with TODO, FIXME, XXX or HACK"]
for path, count in Counter(line["path"] for line in found).most_common(5):
    first = next(line for line in found if line["path"] == path)
    answer.append(f"  {count:>3}  {path}:{first['line']}  {first['text'].strip()[:70]}")
if modules:
    answer += ["", f"Python modules without a test: {len(untested)} of {len(doubtful)} that have no test file of their name"]
    answer += [f"       {path}" for path in untested[:8]]
return "\n".join(answer)
