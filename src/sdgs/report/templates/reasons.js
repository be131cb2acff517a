
// Why each label of a sample is predicted or not: its log-odds as a sum, and the strongest reasons as bars.
const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
const namesOf = labels => labels.length ? labels.map(label => content.labels[label]).join(", ") : "no label";
const titleOf = ([feature, word]) => `${word ? `${word} ` : ""}${content.features[feature]}`;

// Bars to the right and left of a line at zero. A row is a name, a note, a part and whether it has a bar.
function partBars(title, rows, all) {
  const right = Math.max(...all, 0), left = Math.max(...all.map(part => -part), 0);
  const scale = 100 / (right + left || 1), zero = left * scale, share = value => `${value.toFixed(2)}%`;
  const box = make("div", { class: "bars parts", role: "list", "aria-label": title });
  for (const { name, note, part, tone, bare } of rows) {
    const picture = make("svg:svg", { "aria-hidden": "true" }), width = Math.abs(part) * scale;
    if (!bare) picture.append(make("svg:rect", { class: part < 0 ? "against" : "for", x: share(part < 0 ? zero - width : zero), y: 3, width: share(width), height: 14 }));
    if (!bare) picture.append(make("svg:line", { class: "axis", x1: share(zero), x2: share(zero), y1: 0, y2: 20 }));
    const described = make("span", { role: "listitem", class: tone || "" }, name, note ? make("span", { class: "muted" }, ` ${note}`) : "");
    described.append(make("span", { class: "unseen" }, `: ${signed(part)}`));
    box.append(described, picture, make("span", { class: `figure ${tone || ""}`, "aria-hidden": "true" }, signed(part)));
  }
  return [make("h5", {}, title), box];
}

function sumOfKinds({ sums: [base, features, components, neighbours], log_odds: logOdds }) {
  const rows = [{ name: "base", part: base }, { name: components ? "features, directly" : "features", part: features }];
  if (components) rows.push({ name: "components of labels", part: components });
  if (neighbours) rows.push({ name: "similar training samples", part: neighbours });
  const all = [...rows.map(row => row.part), logOdds];
  return partBars("Log-odds by kind of reason", [...rows, { name: "log-odds", part: logOdds, tone: "total" }], all);
}

function reasonLists(reason) {
  const all = [...reason.features, ...reason.components, ...reason.neighbours].map(entry => entry.at(-1));
  const others = ([count, part], noun) => count ? [{ name: plural(count, `other ${noun}`), part, tone: "muted", bare: true }] : [];
  const features = reason.features.map(entry => ({ name: titleOf(entry), note: `=\u00a0${number(entry[2])}`, part: entry[3] }));
  const components = reason.components.map(([label, part]) => ({ name: content.labels[label], part }));
  const neighbours = reason.neighbours.map(([row, similarity, part]) => (
    { name: `${row}: ${namesOf(content.training_labels[row])}`, note: `·\u00a0similarity\u00a0${similarity.toFixed(2)}`, part }));
  const title = reason.sums[2] ? "Features, directly and through components" : "Features";
  return {
    features: features.length ? partBars(title, [...features, ...others(reason.other_features, "feature")], all) : [],
    components: components.length ? partBars("Components of labels found in the sample", components, all) : [],
    neighbours: neighbours.length ? partBars("Similar training samples", [...neighbours, ...others(reason.other_neighbours, "training sample")], all) : [],
  };
}

function reasonImages(reason, sample) {
  const size = content.shape[0] * content.shape[1], parts = new Int8Array(bytes(reason.images));
  const canvases = [
    [sampleImage(new Int8Array(bytes(sample.images)).subarray(0, size)), "the sample"],
    [image(parts, styleColour("--for"), styleColour("--against"), styleColour("--rest")), `what each pixel adds (up to ±${number(reason.limit)})`],
  ];
  return canvases.map(([canvas, name]) => {
    canvas.setAttribute("aria-label", `An image: ${name}`);
    return make("figure", {}, canvas, make("figcaption", {}, name));
  });
}

function reasonSentence(reason) {
  const because = reason.because.length ? [reason.because.map(titleOf).join(", ")] : [];
  if (reason.because_of_neighbours) because.unshift("similar training samples");
  const state = ` is ${reason.predicted ? "" : "not "}predicted`;
  return because.length ? `${state} because of ${because.join(" and ")}.` : `${state}: too little speaks ${reason.predicted ? "against" : "for"} it.`;
}

function reasonBlock(reason, cell, sample, open) {
  const [text, tone] = verdict(cell), lists = reasonLists(reason);
  const pictures = content.shape ? [make("div", { class: "images" }, ...reasonImages(reason, sample))] : [];
  const block = make("details", { class: "reason" },
    make("summary", {}, make("span", { class: `sign ${tone}` }, text), " ", make("strong", {}, content.labels[reason.label]), reasonSentence(reason)),
    make("p", {}, reason.decision),
    make("div", { class: "pictured" }, ...pictures, make("div", {}, ...lists.features)),
    make("div", { class: "columns" },
      make("div", {}, ...sumOfKinds(reason), ...lists.components), make("div", {}, ...lists.neighbours)));
  block.open = open;
  return block;
}

// In the order of the table of labels; the first mistake is open, or else the first label.
function reasonBlocks(i, { reasons, predicted }) {
  const cellOf = new Map();
  for (let c = starts[i]; c < starts[i + 1]; c++) cellOf.set(labelOf[c], cells[c]);
  const order = [...cellOf.keys()], sorted = [...reasons].sort((a, b) => order.indexOf(a.label) - order.indexOf(b.label));
  const isWrong = reason => [TRUE, PREDICTED].includes(cellOf.get(reason.label) & (TRUE | PREDICTED));
  const opened = sorted.find(isWrong) || sorted[0];
  return sorted.map(reason => reasonBlock(reason, cellOf.get(reason.label), predicted, reason === opened));
}

function showReasons(i, explained) {
  const box = byId("label-reasons"), summaries = () => [...box.querySelectorAll("summary")];
  const focused = summaries().indexOf(document.activeElement);
  box.replaceChildren(...reasonBlocks(i, explained));
  // A key that selects the next sample must not lose the focus.
  if (focused >= 0) (summaries()[focused] || summaries().at(-1))?.focus({ preventScroll: true });
}
