# Look around in a directory: what is big, where something is still to do, which modules no test knows.
# This is the body of an async function. All it can reach is `tools`; each call goes through the host's policies.
import asyncio
import time
from collections import Counter, defaultdict

DIRECTORIES, SECONDS = 60, 20  # look at most at so many, and for so long: it is a demo
SKIP = {"node_modules", "__pycache__", "venv", "dist", "build", "target", "site-packages", "vendor"}
SOURCES = "*.{py,js,jsx,ts,tsx,go,rs,c,h,cpp,java,rb,php,sh,md}"
started = time.monotonic()


async def look(directory):
    try:
        return await tools.fs.list(directory, limit=2000)
    except ToolCallError as error:  # not ours to read: go on with the rest
        print(f"skipped {directory}: {error.message}")
        return []


# 1. List directory after directory, eight at a time.
files, seen, waiting = [], 0, ["."]
where_sources_are = []
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
        if any(entry["kind"] == "file" and "." in entry["name"][1:] for entry in entries):
            where_sources_are.append(directory)


# 2. Search these directories for markers.
async def markers(directory):
    if time.monotonic() - started > SECONDS:
        return []
    try:
        return await tools.fs.grep(r"\b(TODO|FIXME|XXX|HACK)\b", directory, glob=SOURCES, limit=50)
    except ToolCallError as error:
        print(f"not searched {directory}: {error.message}")
        return []


found = [line for lines in await asyncio.gather(*map(markers, where_sources_are)) for line in lines]

# 3. Python modules that have no test file of their name: does any test mention them?
names = {entry["name"] for entry in files}
modules = [
    entry
    for entry in sorted(files, key=lambda entry: -entry["size"])
    if entry["name"].endswith(".py") and entry["name"][:-3].isidentifier() and entry["size"] > 200
    if not entry["name"].startswith(("test", "__", "conftest", "setup")) and not entry["name"].endswith("_test.py")
    if not any(part in ("test", "tests") for part in entry["path"].split("/"))
]


def stem(module):
    return module["name"][:-3].strip("_")


doubtful = [module for module in modules if not {f"test_{stem(module)}.py", f"{stem(module)}_test.py"} & names]


async def mentioned(module):
    if time.monotonic() - started > SECONDS:
        return True
    return bool(await tools.fs.grep(rf"\b_*{stem(module)}\b", glob="**/{test_*,*_test}.py", limit=1))


checked = doubtful[:12]
there_are_tests = any(name.startswith("test_") or name.endswith("_test.py") for name in names)
known = await asyncio.gather(*map(mentioned, checked)) if there_are_tests else [False] * len(checked)
untested = [module["path"] for module, is_known in zip(checked, known) if not is_known]

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
    answer += ["", f"Python modules without a test: {len(untested)} of {len(checked)} that have no test file of their name"]
    answer += [f"       {path}" for path in untested[:8]]
return "\n".join(answer)
