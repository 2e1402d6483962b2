// The page of the live service: one message a second (server-sent events), drawn as tables and SVG. No other host is asked.
"use strict";
const $ = (id) => document.getElementById(id);
const text = (value) => document.createTextNode(String(value));
const number = (value, digits = 0) => value === null || value === undefined || Number.isNaN(value) ? "–"
  : value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
const percent = (value) => value === null || Number.isNaN(value) ? "–" : number(100 * value, 1) + " %";
const size = (bytes) => bytes >= 1e9 ? number(bytes / 1e9, 2) + " GB" : bytes >= 1e6 ? number(bytes / 1e6, 1) + " MB" : number(bytes / 1e3, 0) + " kB";
const age = (s) => s >= 172800 ? number(s / 86400) + " d" : s >= 7200 ? number(s / 3600) + " h" : s >= 120 ? number(s / 60) + " min" : number(s) + " s";
const clock = (s) => new Date(1000 * s).toLocaleTimeString("en-GB");

function element(name, attributes, ...children) {
  const svg = ["svg", "path", "line", "text", "circle", "title", "g"].includes(name);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function table(head, rows, numeric) {
  const kind = (at) => numeric.includes(at) ? { class: "n" } : {};
  const cells = (name, values) => values.map((value, at) => element(name, kind(at), value instanceof Node ? value : text(value)));
  return element("table", {}, element("thead", {}, element("tr", {}, ...cells("th", head))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells("td", row)))));
}

function bar(value, most) {
  const width = most > 0 ? Math.max(1, Math.round(110 * Math.abs(value) / most)) : 1;
  const made = element("span", { class: value < 0 ? "bar less" : "bar" });
  made.style.width = width + "px";
  return made;
}

// Lines over x. series: [{name, colour, points: [[x, y], ...]}]; marks: [x, ...]
function chart(label, series, { low, high, show, along, marks = [], diagonal = false }) {
  const W = innerWidth < 600 ? 340 : 560, H = 190, left = 46, right = 10, top = 10, bottom = 24;
  const all = series.flatMap((one) => one.points.filter((p) => Number.isFinite(p[1])));
  if (all.length < 1) return element("p", { class: "soft" }, text("Nothing to show yet."));
  const xs = all.map((p) => p[0]), ys = all.map((p) => p[1]);
  const x0 = diagonal ? 0 : Math.min(...xs), x1 = diagonal ? 1 : Math.max(...xs, x0 + 1);
  const y0 = low ?? Math.min(...ys), y1 = Math.max(high ?? Math.max(...ys), y0 + 1e-9);
  const X = (x) => left + (W - left - right) * (x - x0) / (x1 - x0), Y = (y) => H - bottom - (H - top - bottom) * (y - y0) / (y1 - y0);
  const svg = element("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": label });
  for (let i = 0; i <= 4; i++) {
    const y = y0 + (y1 - y0) * i / 4;
    svg.append(element("line", { x1: left, x2: W - right, y1: Y(y), y2: Y(y), stroke: "var(--line)" }),
      element("text", { x: left - 6, y: Y(y) + 4, "text-anchor": "end" }, text(show(y))));
  }
  for (let i = 0; i <= 3; i++) {
    const x = x0 + (x1 - x0) * i / 3, anchor = i === 0 ? "start" : i === 3 ? "end" : "middle";
    svg.append(element("text", { x: X(x), y: H - 6, "text-anchor": anchor }, text(along(x))));
  }
  for (const [x, told] of marks.filter(([x]) => x >= x0 && x <= x1)) svg.append(element("line",
    { x1: X(x), x2: X(x), y1: top, y2: H - bottom, stroke: "var(--orange)", "stroke-dasharray": "3 3" }, element("title", {}, text(told))));
  if (diagonal) svg.append(element("line", { x1: X(0), y1: Y(0), x2: X(1), y2: Y(1), stroke: "var(--soft)", "stroke-dasharray": "2 4" }));
  for (const one of series) {
    const good = one.points.filter((p) => Number.isFinite(p[1]));
    const d = good.map(([x, y], i) => (i ? "L" : "M") + X(x).toFixed(1) + " " + Y(Math.min(y1, Math.max(y0, y))).toFixed(1)).join("");
    svg.append(element("path", { d, fill: "none", stroke: one.colour, "stroke-width": 2 }));
    if (good.length && (diagonal || good.length < 30)) for (const [x, y] of good)
      svg.append(element("circle", { cx: X(x), cy: Y(y), r: 2.5, fill: one.colour }));
  }
  const key = series.length < 2 ? [] : series.map((one) => {
    const i = element("i", {});
    i.style.background = one.colour;
    return element("span", {}, i, text(one.name));
  });
  return element("div", {}, svg, element("div", { class: "key" }, ...key));
}

function put(id, ...content) { $(id).replaceChildren(...content); }

function keepFocus(draw) {  // a button that has the focus has it after it was drawn again
  const id = document.activeElement && document.activeElement.dataset.key;
  draw();
  if (id) { const again = document.querySelector(`[data-key="${CSS.escape(id)}"]`); if (again) again.focus(); }
}

const rates = [];
let before = null;
function remember(now) {
  const count = (path) => now.requests[path] ? now.requests[path].count : 0;
  const asked = count("/predict") + count("/events"), place = now.models[0].place;
  if (before && now.now > before.now) {
    const seconds = now.now - before.now;
    rates.push([now.now, (asked - before.asked) / seconds, Math.max(0, place - before.place) / seconds]);
    if (rates.length > 600) rates.shift();
  }
  before = { now: now.now, asked, place };
}

function draw(now) {
  remember(now);
  const model = now.models[0], last = model.last, log = now.log, memory = model.memory || { bytes: 0, limit: null };
  const [, asked, learned] = rates[rates.length - 1] || [0, 0, 0];
  const times = (path) => now.requests[path] ? number(1000 * now.requests[path].p99, 1) + " ms" : "–";
  $("state").className = now.problems.length ? "bad" : "ok";
  put("state", text(now.problems.length ? "problem" : "live"));
  const keys = model.keys ? `, and one for each ${model.keys.column}: ${number(model.keys.models)}${model.keys.error ? "; " + model.keys.error : ""}` : "";
  put("kind", text(`${model.name}: ${model.kind}${keys}`));
  put("problems", ...now.problems.map((told) => element("li", {}, text(told))));
  const tiles = [[percent(last.accuracy), "right, last 1,000 events"], [percent(last.balanced_accuracy), "balanced over classes"],
    [number(last.log_loss, 3), "log loss"], [percent(model.answered.accuracy), "right when it was answered"],
    [number(model.place), "events learned"], [number(learned), "events learned a second"], [number(asked), "predictions a second"],
    [times("/predict"), "p99 of a prediction"], [times("/learn"), "p99 of a durable example"], [number(log.waiting), "events wait for labels"],
    [log.waiting ? age(log.oldest) : "–", "the oldest of them"], [number(model.behind), "events still to learn"],
    [size(memory.bytes), memory.limit ? "model, of " + size(memory.limit) : "model"], [size(log.bytes), "log on disk"],
    [number(log.dropped), "dropped without label"], [number(log.dead), "dead letters"]];
  put("tiles", ...tiles.map(([value, name]) => element("div", { class: "tile" }, element("b", {}, text(value)), element("small", {}, text(name)))));
  const curve = model.curve, at = (i) => curve.map((p) => [p[0], p[i] === null ? NaN : p[i]]);
  const when = (place) => { const p = curve.find((p) => p[1] >= place); return p ? p[0] : NaN; };
  const marks = model.happened.map(([row, told]) => [when(row), told]).filter(([x]) => Number.isFinite(x));
  const others = now.models.slice(1, 3).map((one, i) => ({ name: one.name, colour: ["var(--green)", "var(--red)"][i],
    points: one.curve.map((p) => [p[0], p[2] === null ? NaN : p[2]]) }));
  const lows = [...at(2), ...at(4), ...others.flatMap((o) => o.points)].map((p) => p[1]).filter(Number.isFinite);
  put("accuracy", chart("accuracy over time", [{ name: "accuracy", colour: "var(--blue)", points: at(2) },
    { name: "balanced accuracy", colour: "var(--orange)", points: at(4) }, ...others],
    { low: Math.max(0, Math.floor(10 * Math.min(...lows)) / 10), high: 1, show: (y) => number(100 * y) + " %", along: clock, marks }));
  put("loss", chart("log loss over time", [{ name: "log loss", colour: "var(--blue)", points: at(3) }],
    { low: 0, show: (y) => number(y, 2), along: clock, marks }));
  put("rates", chart("rates over time", [{ name: "predictions", colour: "var(--blue)", points: rates.map((r) => [r[0], r[1]]) },
    { name: "learned", colour: "var(--orange)", points: rates.map((r) => [r[0], r[2]]) }], { low: 0, show: (y) => number(y), along: clock }));
  put("times", table(["request", "how many", "p50", "p99"], Object.entries(now.requests).filter(([path]) => path !== "/live").map(([path, t]) =>
    [path, number(t.count), number(1000 * t.p50, 2), number(1000 * t.p99, 2)]), [1, 2, 3]),
    element("small", {}, text(`transactions: p50 ${number(1000 * log.seconds.p50, 1)} ms, p99 ${number(1000 * log.seconds.p99, 1)} ms`)));
  put("classes", table(["class", "recall", "", "precision", "events"], model.classes.map((one) =>
    [one.label, percent(one.recall), bar(one.recall, 1), percent(one.precision), number(one.rows)]), [1, 3, 4]));
  const names = model.labels.slice(0, 12);
  put("confusion", table(["", ...names], names.map((name, r) => [name, ...names.map((_, c) => number(model.confusion[r][c]))]), names.map((_, i) => i + 1)));
  const most = Math.max(...model.parts.map((part) => Math.abs(part[1])), 0);
  put("parts", model.parts.length ? table(["part", "counts", ""], model.parts.map(([name, value]) => [name, number(value, 3), bar(value, most)]), [1])
    : element("p", { class: "soft" }, text("This model has no parts that it weighs.")));
  const sure = model.reliability;
  put("calibration", chart("calibration", [{ name: "right", colour: "var(--blue)", points: sure.confidence.map((c, i) => [c, sure.right[i]])
    .filter((p) => p[0] !== null && p[1] !== null) }], { low: 0, high: 1, show: (y) => number(100 * y) + " %", along: (x) => number(100 * x) + " %", diagonal: true }));
  keepFocus(() => put("models", table(["model", "", "right", "balanced", "log loss", "behind", "more accurate than the one that answers, by points (95 %)", ""],
    now.models.map((one, i) => {
      const better = now.better[one.name], points = (v) => number(100 * v, 2);
      const told = i === 0 ? "answers" : better ? `${points(better.more)} (${points(better.low)} to ${points(better.high)}), last ${number(better.events)} events` : "too few events yet";
      const button = element("button", { "data-key": "promote " + one.name }, text("let it answer"));
      button.onclick = () => promote(one.name);
      return [one.name, element("small", {}, text(one.kind)), percent(one.last.accuracy), percent(one.last.balanced_accuracy), number(one.last.log_loss, 3),
        number(one.behind), told, i === 0 ? "" : button];
    }), [2, 3, 4, 5])));
  keepFocus(() => put("recent", table(["came", "id", "said", "probability", "", "row", ""], now.recent.map((event) => {
    const best = event.label === null ? 0 : event.p[event.label === true ? "True" : event.label === false ? "False" : String(event.label)];
    const button = element("button", { "data-key": "why " + event.id }, text("why"));
    button.onclick = () => explain(event);
    return [clock(event.at), event.id, (event.label === null ? "–" : event.label) + (event.wanted ? ", label wanted" : ""), percent(best), bar(best, 1), element("small", {}, text(JSON.stringify(event.row).replaceAll(",", ", "))), button];
  }), [3])));
  put("happened", model.happened.length ? table(["what"], model.happened.slice().reverse().map(([, told]) => [told]), [])
    : element("p", { class: "soft" }, text("Nothing yet: no class, column or part of the model is new.")));
}

async function send(path, body) {
  const answer = await fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  return answer.json();
}

async function explain(event) {
  const said = await send("/predict", { row: event.row, explain: true }), why = said.explanation;
  if (!why) return put("why", element("p", {}, text(said.error || "Nothing has been learned yet.")));
  const margins = Object.entries(why.margins).slice(0, 12), most = Math.max(...margins.map(([, v]) => Math.abs(v)), 0);
  put("why", element("h2", {}, text(`${event.id}: ${said.label} rather than ${why.runner_up}, as the model is now`)),
    table(["column or part", "speaks for it", ""], margins.map(([name, v]) => [name, number(v, 3), bar(v, most)]), [1]),
    element("pre", {}, text(why.paths.join("\n"))));
}

async function promote(name) {
  const said = await send("/promote", { model: name });
  if (said.error) alert(said.error);
}

async function audit() {
  const found = document.hidden ? null : await fetch("/audit").then((answer) => answer.ok ? answer.json() : null).catch(() => null);
  if (found) put("audit", found.gaps.length ? table(["rows", "how many", "label", "was said", "came", ""], found.gaps.map((gap) =>
    [`${gap.column} ${gap.group.replace(/\d+\.\d{5,}/g, (value) => Number(Number(value).toPrecision(5)))}`, number(gap.rows), gap.label, percent(gap.said), percent(gap.seen), bar(gap.said - gap.seen, 1)]), [1, 3, 4])
    : element("p", { class: "soft" }, text(found.groups ? `None of ${number(found.groups)} groups and labels.` : "Too few events yet.")));
}

audit();
setInterval(audit, 10000);
const live = new EventSource("/live");
live.onmessage = (message) => draw(JSON.parse(message.data));
live.onerror = () => { $("state").className = "bad"; put("state", text("not connected")); };
