"use strict";
// Shows the trace that the page carries. Everything from the log reaches the screen through text nodes (`put`), never as
// markup. Rows are drawn only where they can be seen, so ten thousand calls cost what thirty do.
const trace = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const ROW = 22, BIG_TEXT = 100000;
const STATUSES = { done: "✓", failed: "✕", denied: "⊘", aborted: "◼", unknown: "?" };
const STAGES = ["queued", "before", "body", "after"];
// Characters that would change how the text around them reads: shown by their number instead.
const ODD = /([\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff])/;

let run = null, shown = [], chosen = -1, from = 0, to = 1, printing = false;

function put(node, text, limit = BIG_TEXT) {
  const whole = String(text), cut = whole.length > limit;
  (cut ? whole.slice(0, limit) : whole).split(ODD).forEach((piece, i) => {
    if (!piece) return;
    if (i % 2 === 0) return void node.append(piece);
    node.append(make("span", "odd", "\\u" + piece.charCodeAt(0).toString(16).padStart(4, "0")));
  });
  if (cut) {
    const more = make("button", "", `show all ${whole.length.toLocaleString("en")} characters`);
    more.type = "button";
    more.addEventListener("click", () => { node.textContent = ""; put(node, whole, Infinity); });
    node.append("\n", more);
  }
  return node;
}
function make(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) put(node, text);
  return node;
}
function folded(title, value, open) {
  const box = make("details"), text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  box.open = open;
  box.append(make("summary", "", title));
  const fill = () => { if (box.open && box.children.length === 1) box.append(put(make("pre"), text ?? "")); };
  box.addEventListener("toggle", fill);
  fill();
  return box;
}
const duration = (ms) => ms === null || ms === undefined ? "?" : ms >= 1000 ? `${(ms / 1000).toFixed(2)} s` : `${+ms.toFixed(ms < 10 ? 2 : 0)} ms`;
const bytes = (n) => n === undefined ? "?" : n >= 1 << 20 ? `${(n / (1 << 20)).toFixed(1)} MiB` : `${Math.round(n / 1024)} KiB`;

function segments(call) {
  // The start record is written when the call leaves the queue; what it waited before that is drawn in front of it.
  const known = STAGES.some((stage) => stage in call.timing);
  const length = call.ended === null ? run.span - (call.started - run.started) : call.ended - call.started;
  let at = call.started - run.started - (call.timing.queued || 0);
  return (known ? STAGES.map((stage) => [stage, call.timing[stage] || 0]) : [["body", length]]).map(([stage, ms]) => {
    const segment = { stage, start: at, length: ms };
    at += ms;
    return segment;
  }).filter((segment) => segment.length > 0 || segment.stage === "body");
}
const took = (call) => call.ended === null ? null
  : STAGES.slice(1).some((stage) => stage in call.timing) ? STAGES.slice(1).reduce((sum, stage) => sum + (call.timing[stage] || 0), 0)
  : call.ended - call.started;

function row(index) {
  const call = shown[index], node = make("div", `row ${call.status}`);
  node.id = `row-${index}`;
  node.setAttribute("role", "option");
  node.setAttribute("aria-selected", String(index === chosen));
  node.setAttribute("aria-setsize", String(shown.length));
  node.setAttribute("aria-posinset", String(index + 1));
  node.style.top = `${index * ROW}px`;
  const label = make("span", "label");
  label.append(make("span", `mark-${call.status}`, STATUSES[call.status] || "?"), make("span", "name", call.name));
  label.append(make("span", "what", JSON.stringify(call.arguments ?? null).slice(0, 160)), make("span", "at", duration(took(call))));
  label.setAttribute("aria-label", `${call.name}, ${call.status}, ${duration(took(call))}`);
  const track = make("span", "track");
  const parts = segments(call), whole = parts.reduce((sum, part) => sum + part.length, 0);
  // Too narrow to tell the stages apart: one bar in the outcome's colour.
  const drawn = whole / (to - from) < 0.015 ? [{ stage: "body", start: parts[0].start, length: whole }] : parts;
  for (const segment of drawn) {
    const bar = make("i", segment.stage), left = (segment.start - from) / (to - from), width = segment.length / (to - from);
    if (left > 1 || left + width < 0) continue;
    bar.style.left = `${Math.max(left, 0) * 100}%`;
    bar.style.width = `${(Math.min(left + width, 1) - Math.max(left, 0)) * 100}%`;
    track.append(bar);
  }
  node.append(label, track);
  node.addEventListener("click", () => choose(index));
  return node;
}
function draw() {
  const rows = $("rows"), spacer = $("spacer");
  const first = printing ? 0 : Math.max(0, Math.floor(rows.scrollTop / ROW) - 6);
  const last = printing ? shown.length : Math.min(shown.length, Math.ceil((rows.scrollTop + rows.clientHeight) / ROW) + 6);
  spacer.style.height = `${shown.length * ROW}px`;
  spacer.replaceChildren(...Array.from({ length: Math.max(0, last - first) }, (_, i) => row(first + i)));
  if (chosen >= first && chosen < last) rows.setAttribute("aria-activedescendant", `row-${chosen}`);
  else rows.removeAttribute("aria-activedescendant");
}
function axis() {
  const ticks = 5;
  $("axis").replaceChildren(...Array.from({ length: ticks }, (_, i) => {
    const tick = make("span", "", duration(from + (to - from) * i / ticks));
    tick.style.left = `${i * 100 / ticks}%`;
    return tick;
  }));
}
function scale(factor) {
  const call = shown[chosen], middle = call ? call.started - run.started : (from + to) / 2;
  const width = Math.min(Math.max((to - from) * factor, 0.05), run.span);
  from = factor === Infinity ? 0 : Math.min(Math.max(middle - width / 2, 0), run.span - width);
  to = from + width;
  axis(); draw();
}
function filter() {
  const words = $("find").value.toLowerCase(), status = $("status").value;
  const before = shown[chosen];
  shown = run.calls.filter((call) => (!status || call.status === status) && (!words || haystack(call).includes(words)));
  chosen = before ? shown.indexOf(before) : -1;
  $("count").textContent = shown.length === run.calls.length ? `${shown.length}` : `${shown.length} of ${run.calls.length}`;
  draw();
}
const haystack = (call) => call.haystack ??= JSON.stringify([call.name, call.sub_call_id, call.arguments, call.error, call.content, `line ${call.line}`]).toLowerCase();

function choose(index, reveal) {
  if (!shown.length) return;
  chosen = Math.min(Math.max(index, 0), shown.length - 1);
  const rows = $("rows"), top = chosen * ROW;
  if (top < rows.scrollTop) rows.scrollTop = top;
  else if (top + ROW > rows.scrollTop + rows.clientHeight) rows.scrollTop = top + ROW - rows.clientHeight;
  draw(); details(shown[chosen]);
  if (reveal) $("call").focus();
}
function facts(list, pairs) {
  list.replaceChildren();
  for (const [name, value] of pairs) if (value !== null && value !== undefined && value !== "") list.append(make("dt", "", name), make("dd", "", value));
  return list;
}
function details(call) {
  const body = $("call-body");
  const stages = STAGES.filter((stage) => stage in call.timing).map((stage) => `${stage} ${duration(call.timing[stage])}`).join(", ");
  body.replaceChildren(facts(make("dl"), [
    ["tool", call.name], ["outcome", `${STATUSES[call.status]} ${call.status}${call.code ? ` (${call.code})` : ""}`], ["message", call.error],
    ["line", call.line], ["began", `+${duration(call.started - run.started)}`], ["took", `${duration(took(call))}${stages ? ` (${stages})` : ""}`],
    ["scope", call.scope], ["id", call.sub_call_id],
    ...call.approvals.map((approval) => ["approval", `${approval.outcome}${approval.reason ? `: ${approval.reason}` : ""}`]),
  ]), folded("Arguments", call.arguments ?? null, true));
  const text = call.content.every((block) => block && typeof block.text === "string");
  body.append(folded("Result", text ? call.content.map((block) => block.text).join("\n") : call.content, true));
  for (const line of $("program").children) line.classList.toggle("here", line.value === call.line);
  const here = $("program").querySelector(".here");
  if (here) here.scrollIntoView({ block: "nearest" });
}
function program() {
  const calls = new Map();
  for (const call of run.calls) if (call.line) calls.set(call.line, (calls.get(call.line) || 0) + 1);
  $("program").replaceChildren(...(run.code ?? "").replace(/\n$/, "").split(/\r\n|\r|\n/).map((text, i) => {
    const line = make("li"), times = calls.get(i + 1);
    line.value = i + 1;
    if (times) {
      line.className = "called";
      line.append(make("span", "times", `${times} ${times === 1 ? "call" : "calls"}`));
      line.addEventListener("click", () => choose(shown.findIndex((call) => call.line === i + 1)));
    }
    if (run.error && run.error.line === i + 1) line.classList.add("wrong");
    put(line, text || " ");
    return line;
  }));
}
function show(index) {
  run = trace.runs[index];
  const last = run.calls.reduce((end, call) => Math.max(end, call.ended ?? call.started), run.ended ?? run.started);
  run.span = Math.max(last - run.started, 1);
  from = 0; to = run.span; chosen = -1;
  const counts = {};
  for (const call of run.calls) counts[call.status] = (counts[call.status] || 0) + 1;
  $("title").textContent = ""; put($("title"), run.description);
  $("summary").textContent = "";
  put($("summary"), [`${run.status}`, `${run.calls.length} ${run.calls.length === 1 ? "call" : "calls"}`, ...Object.entries(counts).map(([status, n]) => `${STATUSES[status]} ${n} ${status}`),
    `${duration(run.usage.wall_seconds === undefined ? run.span : run.usage.wall_seconds * 1000)}`].join(" · "));
  $("error").hidden = !run.error;
  $("error").textContent = "";
  if (run.error) put($("error"), `${run.error.kind}${run.error.line ? `, line ${run.error.line}` : ""}: ${run.error.message}`);
  $("status").replaceChildren(make("option", "", "every outcome"), ...Object.keys(counts).map((status) => {
    const option = make("option", "", `${status} (${counts[status]})`);
    option.value = status;
    return option;
  }));
  $("status").options[0].value = "";
  $("output").textContent = ""; put($("output"), run.text || "(nothing)");
  facts($("about"), [["run", run.run_id], ["outer call", run.call_id], ["isolation", run.isolation], ["began", new Date(run.started).toISOString()],
    ["compute", run.usage.compute_seconds === undefined ? null : duration(run.usage.compute_seconds * 1000)],
    ["memory", run.usage.peak_memory_bytes === undefined ? null : bytes(run.usage.peak_memory_bytes)],
    ["limits", Object.entries(run.limits).map(([name, value]) => `${name} ${value}`).join(", ")], ["tools", run.tools.join(", ")],
    ...[...run.warnings, ...trace.warnings].map((text) => ["warning", text]), ["unread records", trace.unread || null]]);
  $("call-body").replaceChildren(make("p", "quiet", run.calls.length ? "Choose a call on the left, or a line of the program." : "This program made no call."));
  program(); axis(); filter();
}
const KEYS = {
  ArrowDown: () => choose(chosen + 1), ArrowUp: () => choose(chosen - 1), Home: () => choose(0), End: () => choose(shown.length - 1),
  PageDown: () => choose(chosen + Math.max(1, Math.floor($("rows").clientHeight / ROW) - 1)),
  PageUp: () => choose(chosen - Math.max(1, Math.floor($("rows").clientHeight / ROW) - 1)),
  Enter: () => choose(chosen, true), "+": () => scale(0.5), "=": () => scale(0.5), "-": () => scale(2), 0: () => scale(Infinity),
};
$("rows").addEventListener("keydown", (event) => {
  if (!(event.key in KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  KEYS[event.key]();
});
document.addEventListener("keydown", (event) => {
  const typing = ["INPUT", "SELECT"].includes(event.target.tagName);
  if (event.key === "/" && !typing) { event.preventDefault(); $("find").focus(); }
  if (event.key === "Escape") { $("find").value = ""; $("status").value = ""; filter(); $("rows").focus(); }
});
$("rows").addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
$("find").addEventListener("input", filter);
$("status").addEventListener("change", filter);
$("zoom-in").addEventListener("click", () => scale(0.5));
$("zoom-out").addEventListener("click", () => scale(2));
$("zoom-fit").addEventListener("click", () => scale(Infinity));
$("run").addEventListener("change", () => show($("run").selectedIndex));
addEventListener("resize", draw);
addEventListener("beforeprint", () => { printing = true; draw(); });
addEventListener("afterprint", () => { printing = false; draw(); });
trace.runs.forEach((each, i) => $("run").append(make("option", "", `${i + 1}. ${each.description} (${each.status})`)));
$("run-choice").hidden = trace.runs.length < 2;
if (trace.runs.length) show(trace.runs.length - 1), $("run").selectedIndex = trace.runs.length - 1;
else $("summary").textContent = "The log holds no run of a program.";
document.documentElement.dataset.ready = "yes";
