
// Choose or search a sample, step through the mistakes, see it come apart.
const SHOWN = 200;  // samples in the list at a time
const which = byId("which"), sampleSearch = byId("sample-search"), list = byId("list");
const isMistake = new Uint8Array(n);
mistakes.forEach(i => { isMistake[i] = 1; });
let matches = [], at = 0, listed = null;

// A sample matches by its name or number, or by one of its labels; after "label:" only by labels. What is somebody's
// whole name means nobody else.
function matching(pool, text) {
  const [, prefix, typed] = text.trim().toLowerCase().match(/^(label:)?\s*(.*)$/s);
  if (!typed) return pool;
  const among = names => {
    const exact = names.map(name => name === typed);
    return exact.includes(true) ? exact : names.map(name => name.includes(typed));
  };
  const labels = among(content.labels.map(name => name.toLowerCase()));
  const named = prefix ? null : content.names ? among(content.names.map(name => name.toLowerCase())) : { [typed]: true };
  return pool.filter(i => {
    if (named && named[i]) return true;
    for (let c = starts[i]; c < starts[i + 1]; c++) {
      if (cells[c] & (TRUE | PREDICTED) && labels[labelOf[c]]) return true;
    }
    return false;
  });
}

function f1Of(i) {
  let size = 0, given = 0, both = 0;
  for (let c = starts[i]; c < starts[i + 1]; c++) {
    size += (cells[c] & TRUE) > 0;
    given += (cells[c] & PREDICTED) > 0;
    both += (cells[c] & TRUE) > 0 && (cells[c] & PREDICTED) > 0;
  }
  return size + given ? 2 * both / (size + given) : 1;
}

function setOf(i, flag) {
  const names = [];
  for (let c = starts[i]; c < starts[i + 1]; c++) if (cells[c] & flag) names.push(content.labels[labelOf[c]]);
  return names.length ? names.join(", ") : "none";
}

// What is spoken when something else comes up; the list speaks for itself.
function describe() {
  if (!matches.length) return;
  const i = matches[at];
  speak(byId("said"), `${byId("place").textContent}. Sample ${nameOf(i)}: F1 ${percent(f1Of(i))} %. True: ${setOf(i, TRUE)}. Predicted: ${setOf(i, PREDICTED)}.`);
}

function find() {
  const everything = Array.from({ length: n }, (_, i) => i);
  const pools = {
    mistakes: () => [...mistakes],
    right: () => everything.filter(i => !isMistake[i]),
    apart: () => everything.filter(i => content.apart[i]),
    all: () => everything,
  };
  matches = matching(pools[which.value](), sampleSearch.value);
  listed = null;
  show(0);
}

function show(place) {
  at = Math.min(Math.max(place, 0), Math.max(matches.length - 1, 0));
  const first = Math.floor(at / SHOWN) * SHOWN;
  if (listed !== first) {
    list.replaceChildren(...matches.slice(first, first + SHOWN).map((i, j) => make("option", { value: first + j },
      `${isMistake[i] ? "✗" : "✓"} ${nameOf(i)} · F1 ${percent(f1Of(i))} · ${setOf(i, TRUE)}`)));
    listed = first;
  }
  list.value = `${at}`;
  // Not disabled, which would take the focus away from who steps with the keyboard.
  byId("back").setAttribute("aria-disabled", at === 0);
  byId("on").setAttribute("aria-disabled", at >= matches.length - 1);
  byId("sample").hidden = !matches.length;
  byId("place").textContent = matches.length ? `${at + 1} of ${matches.length.toLocaleString("en")}` : "There is no such sample.";
  if (matches.length) showSample(matches[at]);
}

function verdict(cell) {
  const signs = { [TRUE | PREDICTED]: ["✓ right", "good"], [TRUE]: ["○ missed", "warm"], [PREDICTED]: ["✗ wrong", "bad"] };
  return signs[cell & (TRUE | PREDICTED)] || ["· neither", "muted"];
}

function showSample(i) {
  byId("sample-name").textContent = `Sample ${nameOf(i)}: F1 ${percent(f1Of(i))} %`;
  const apart = content.apart[i], radios = [...byId("into").querySelectorAll("input")];
  byId("into").hidden = !apart || !apart.true;
  const into = apart && apart.true && radios.find(radio => radio.checked).value === "true" ? apart.true : apart && apart.predicted;
  const lines = [];
  for (let c = starts[i]; c < starts[i + 1]; c++) {
    const matters = cells[c] & (TRUE | PREDICTED);
    if (!matters && (lines.length >= 12 || (cells[c] & LEVEL) < 50)) continue;
    const [words, tone] = verdict(cells[c]), level = cells[c] & LEVEL, label = labelOf[c];
    const place = into ? into.labels.indexOf(label) : -1, share = place < 0 ? "" : `${(100 * into.shares[place]).toFixed(0)} %`;
    const alone = place < 0 ? "" : `${(100 * into.unique[place]).toFixed(0)} %`;
    const chance = content.has_probabilities ? [make("svg:svg", { class: "chance", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
      make("svg:rect", { width: level / 10, height: 10 })), (level / content.steps).toFixed(3)] : ["–"];
    lines.push(make("tr", {}, make("td", { class: `text ${tone}` }, make("span", { class: "sign" }, words)),
      make("th", { class: "text wrap", scope: "row" }, content.labels[label]), make("td", {}, ...chance), make("td", {}, share), make("td", {}, alone)));
  }
  if (!lines.length) lines.push(make("tr", {}, make("td", { class: "text", colspan: 5 }, "It has no label and gets none.")));
  byId("verdicts").tBodies[0].replaceChildren(...lines);
  byId("apart").hidden = !into;
  byId("not-apart").hidden = !!into;
  if (!into) return;
  byId("picture").replaceChildren(...(content.shape ? images(into) : bars(into)));
  byId("words").replaceChildren(...into.words.map(line => make("li", {}, line)));
  byId("odd").tBodies[0].replaceChildren(...into.odd.map(([feature, value, expected, corrupted]) => make("tr", {},
    make("th", { class: "text wrap", scope: "row" }, content.features[feature]), make("td", {}, number(value)),
    make("td", {}, number(expected)), make("td", { class: "text warm" }, corrupted ? "! looks corrupted" : ""))));
}

// From the table of labels.
function lookFor(label) {
  sampleSearch.value = `label: ${label}`;
  which.value = "mistakes";
  find();
  if (!matches.length) {
    which.value = "all";
    find();
  }
  byId("explorer").scrollIntoView();
  sampleSearch.focus({ preventScroll: true });
}

function step(by) {
  show(at + by);
  describe();
}

function search() {
  find();
  const found = matches.length === 1 ? "1 sample" : `${matches.length.toLocaleString("en")} samples`;
  speak(byId("said"), matches.length ? found : byId("place").textContent, TYPING);
}

which.addEventListener("change", search);
sampleSearch.addEventListener("input", inFrame(search));
list.addEventListener("change", () => show(Number(list.value)));
byId("back").addEventListener("click", () => step(-1));
byId("on").addEventListener("click", () => step(1));
byId("into").addEventListener("change", () => show(at));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show(at));
// Keys work where the focus is in the explorer, on nothing that takes them itself. A click gets it there.
byId("explorer").addEventListener("keydown", event => {
  const taken = event.target !== event.currentTarget && event.target.matches("input, select, textarea, [tabindex]");
  if (taken || event.ctrlKey || event.metaKey || event.altKey) return;
  const by = { j: 1, ArrowRight: 1, k: -1, ArrowLeft: -1 }[event.key];
  if (!by) return;
  event.preventDefault();
  step(by);
});
find();
