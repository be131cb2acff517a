
// Choose or search a sample, go through the mistakes, and see the reasons of its labels and its decomposition.
const LIST_SIZE = 200;  // samples in the list at a time
const which = byId("which"), sampleSearch = byId("sample-search"), list = byId("list");
const isMistake = new Uint8Array(n);
mistakes.forEach(i => { isMistake[i] = 1; });
let matches = [], position = 0, firstListed = null;

// A sample matches by its name or number, or by one of its labels; after "label:" only by labels. If the text is the whole
// name of a sample or label, other names that contain it do not match.
function search(pool, text) {
  const [, prefix, typed] = text.trim().toLowerCase().match(/^(label:)?\s*(.*)$/s);
  if (!typed) return pool;
  const matchNames = names => {
    const exact = names.map(name => name === typed);
    return exact.includes(true) ? exact : names.map(name => name.includes(typed));
  };
  const labelMatches = matchNames(content.labels.map(name => name.toLowerCase()));
  const nameMatches = prefix ? null : content.names ? matchNames(content.names.map(name => name.toLowerCase())) : { [typed]: true };
  return pool.filter(i => {
    if (nameMatches && nameMatches[i]) return true;
    for (let c = starts[i]; c < starts[i + 1]; c++) {
      if (cells[c] & (TRUE | PREDICTED) && labelMatches[labelOf[c]]) return true;
    }
    return false;
  });
}

function f1Of(i) {
  let nTrue = 0, nPredicted = 0, nBoth = 0;
  for (let c = starts[i]; c < starts[i + 1]; c++) {
    nTrue += (cells[c] & TRUE) > 0;
    nPredicted += (cells[c] & PREDICTED) > 0;
    nBoth += (cells[c] & TRUE) > 0 && (cells[c] & PREDICTED) > 0;
  }
  return nTrue + nPredicted ? 2 * nBoth / (nTrue + nPredicted) : 1;
}

function labelNames(i, flag) {
  const names = [];
  for (let c = starts[i]; c < starts[i + 1]; c++) if (cells[c] & flag) names.push(content.labels[labelOf[c]]);
  return names.length ? names.join(", ") : "none";
}

// Announced when a button or key selects another sample; the list announces its own selection.
function announceSample() {
  if (!matches.length) return;
  const i = matches[position];
  announce(byId("announcement"), `${byId("position").textContent}. Sample ${nameOf(i)}: F1 ${percent(f1Of(i))} %. True: ${labelNames(i, TRUE)}. Predicted: ${labelNames(i, PREDICTED)}.`);
}

function updateMatches() {
  const everything = Array.from({ length: n }, (_, i) => i);
  const pools = {
    mistakes: () => [...mistakes],
    right: () => everything.filter(i => !isMistake[i]),
    explained: () => everything.filter(i => content.explained[i]),
    all: () => everything,
  };
  matches = search(pools[which.value](), sampleSearch.value);
  firstListed = null;
  show(0);
}

function show(newPosition) {
  position = Math.min(Math.max(newPosition, 0), Math.max(matches.length - 1, 0));
  const first = Math.floor(position / LIST_SIZE) * LIST_SIZE;
  if (firstListed !== first) {
    list.replaceChildren(...matches.slice(first, first + LIST_SIZE).map((i, j) => make("option", { value: first + j },
      `${isMistake[i] ? "✗" : "✓"} ${nameOf(i)} · F1 ${percent(f1Of(i))} · ${labelNames(i, TRUE)}`)));
    firstListed = first;
  }
  list.value = `${position}`;
  // Not disabled, because a disabled button loses the keyboard focus.
  byId("previous").setAttribute("aria-disabled", position === 0);
  byId("next").setAttribute("aria-disabled", position >= matches.length - 1);
  byId("sample").hidden = !matches.length;
  byId("position").textContent = matches.length ? `${position + 1} of ${matches.length.toLocaleString("en")}` : "No sample matches.";
  if (matches.length) showSample(matches[position]);
}

function verdict(cell) {
  const signs = { [TRUE | PREDICTED]: ["✓ right", "good"], [TRUE]: ["○ missed", "warm"], [PREDICTED]: ["✗ wrong", "bad"] };
  return signs[cell & (TRUE | PREDICTED)] || ["· neither", "muted"];
}

function showSample(i) {
  byId("sample-name").textContent = `Sample ${nameOf(i)}: F1 ${percent(f1Of(i))} %`;
  const both = content.explained[i], target = byId("target").querySelector(":checked").value;
  byId("target").hidden = !both || !both.true;
  const explained = both && (both[target] || both.predicted);
  const rows = [];
  for (let c = starts[i]; c < starts[i + 1]; c++) {
    const relevant = cells[c] & (TRUE | PREDICTED), step = cells[c] & STEP, label = labelOf[c];
    if (!relevant && (rows.length >= 12 || step < 50)) continue;
    const [text, tone] = verdict(cells[c]), part = explained ? explained.labels.indexOf(label) : -1;
    const share = shares => part < 0 ? "" : `${(100 * shares[part]).toFixed(0)} %`;
    const probability = content.has_probabilities ? [make("svg:svg", { class: "probability", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
      make("svg:rect", { width: 100 * step / content.n_steps, height: 10 })), (step / content.n_steps).toFixed(3)] : ["–"];
    rows.push(make("tr", {}, make("td", { class: `text ${tone}` }, make("span", { class: "sign" }, text)),
      make("th", { class: "text wrap", scope: "row" }, content.labels[label]), make("td", {}, ...probability),
      make("td", {}, share(explained?.shares)), make("td", {}, share(explained?.unique_shares))));
  }
  if (!rows.length) rows.push(make("tr", {}, make("td", { class: "text", colspan: 5 }, "No true and no predicted labels.")));
  byId("verdicts").tBodies[0].replaceChildren(...rows);
  byId("decomposition").hidden = !explained;
  if (content.has_reasons) byId("reasons").hidden = !explained || !both.reasons.length;
  byId("not-decomposed").hidden = !!explained;
  if (!explained) return;
  if (content.has_reasons) showReasons(i, both);
  byId("picture").replaceChildren(...(content.shape ? images(explained) : bars(explained)));
  byId("sentences").replaceChildren(...explained.sentences.map(line => make("li", {}, line)));
  byId("residuals").tBodies[0].replaceChildren(...explained.residuals.map(([feature, value, expected, corrupted]) => make("tr", {},
    make("th", { class: "text wrap", scope: "row" }, content.features[feature]), make("td", {}, number(value)),
    make("td", {}, number(expected)), make("td", { class: "text warm" }, corrupted ? "! looks corrupted" : ""))));
}

// Called by the table of labels.
function showSamplesWith(label) {
  sampleSearch.value = `label: ${label}`;
  which.value = "mistakes";
  updateMatches();
  if (!matches.length) {
    which.value = "all";
    updateMatches();
  }
  byId("explorer").scrollIntoView();
  byId("explorer").focus({ preventScroll: true });  // where the keys of the explorer work, unlike in the search
}

function move(by) {
  const isInside = byId("sample").contains(document.activeElement);
  show(position + by);
  const { activeElement } = document;
  // What had the focus may be gone or hidden now.
  if (isInside && (activeElement === document.body || !activeElement.checkVisibility())) byId("explorer").focus({ preventScroll: true });
  announceSample();
}

function updateAndAnnounce() {
  updateMatches();
  const count = matches.length === 1 ? "1 sample" : `${matches.length.toLocaleString("en")} samples`;
  announce(byId("announcement"), matches.length ? count : byId("position").textContent, TYPING_PAUSE);
}

which.addEventListener("change", updateAndAnnounce);
sampleSearch.addEventListener("input", inFrame(updateAndAnnounce));
list.addEventListener("change", () => show(Number(list.value)));
byId("previous").addEventListener("click", () => move(-1));
byId("next").addEventListener("click", () => move(1));
byId("target").addEventListener("change", () => show(position));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show(position));
// Keys work if the focus is inside the explorer, as after a click, but not on an element that handles keys itself.
byId("explorer").addEventListener("keydown", event => {
  const handled = event.target !== event.currentTarget && event.target.matches("input, select, textarea, [tabindex]");
  if (handled || event.ctrlKey || event.metaKey || event.altKey) return;
  const by = { j: 1, ArrowRight: 1, k: -1, ArrowLeft: -1 }[event.key];
  if (!by) return;
  event.preventDefault();
  move(by);
});
updateMatches();
