
// A decomposed sample as bars or as images. Every part has a colour and a letter.
const number = value => value === null ? "missing" : `${Number(value.toPrecision(3))}`;
const partClass = (i, count) => i === count - 1 ? "part-residual" : `part-${i}`;
const letter = (i, count) => i === count - 1 ? "r" : String.fromCharCode(65 + i);

function partNames(explained) {
  const names = explained.labels.slice(0, explained.n_own_parts).map(i => content.labels[i]);
  const nOthers = explained.labels.length - explained.n_own_parts;
  return [...names, ...(nOthers ? [`${nOthers} other ${nOthers > 1 ? "labels" : "label"}`] : []), "residual"];
}

function bars(explained) {
  const names = partNames(explained), box = make("div", { class: "bars", role: "list", "aria-label": "The features with the largest contributions" });
  const ends = explained.parts.map(parts => [1, -1].map(sign => parts.reduce((sum, part) => sum + Math.max(sign * (part || 0), 0), 0)));
  const right = Math.max(...ends.map(end => end[0]), 0), left = Math.max(...ends.map(end => end[1]), 0);
  const scale = 100 / (right + left || 1), zero = left * scale, share = value => `${value.toFixed(2)}%`;
  explained.parts.forEach((parts, row) => {
    const name = content.features[explained.features[row]];
    const picture = make("svg:svg", { "aria-hidden": "true" });
    let positiveEnd = zero, negativeEnd = zero, total = 0;
    parts.forEach((part, i) => {
      const width = Math.abs(part || 0) * scale, x = part > 0 ? positiveEnd : negativeEnd - width;
      if (part > 0) positiveEnd += width; else negativeEnd -= width;
      total += part || 0;
      if (width) picture.append(make("svg:rect", { class: partClass(i, names.length), x: share(x), y: 2, width: share(width), height: 16 },
        make("svg:title", {}, `${names[i]}: ${number(part)}`)));
      if (width > 5) picture.append(make("svg:text", { class: "letter", x: share(x + width / 2), y: 14 }, letter(i, names.length)));
    });
    const mark = (name, x) => make("svg:line", { class: name, x1: share(x), x2: share(x), y1: 0, y2: 20 });
    picture.append(mark("axis", zero), mark("total", zero + total * scale));
    const spoken = parts.map((part, i) => `${names[i]} ${number(part)}`).join(", ");
    box.append(
      make("span", { role: "listitem" }, name, make("span", { class: "unseen" }, ` is ${number(explained.values[row])}. Scaled contributions: ${spoken}.`)),
      picture, make("span", { class: "figure", "aria-hidden": "true" }, number(explained.values[row])));
  });
  const legend = make("ul", { class: "legend" }, ...names.map((name, i) => make("li", {},
    make("svg:svg", { viewBox: "0 0 20 16", "aria-hidden": "true" },
      make("svg:rect", { class: partClass(i, names.length), width: 20, height: 16 }),
      make("svg:text", { class: "letter", x: 10, y: 12 }, letter(i, names.length))), name)));
  const note = make("p", { class: "muted" }, "Bars are scaled so that features are comparable; numbers are values of the model's features: those of a table with text, categories or dates are encoded, and measurements in it are in standard deviations from their mean. Bars to the right of the line are positive, bars to the left negative. The thick mark is the value of the sample.");
  return [legend, box, note];
}

// A colour for positive and one for negative values, the more intense the larger, and one for missing entries.
function image(values, positive, negative, missing) {
  const [height, width] = content.shape, canvas = make("canvas", { width, height, role: "img" });
  const pen = canvas.getContext("2d"), pixels = pen.createImageData(width, height), paper = styleColour("--paper");
  values.forEach((value, i) => {
    const colour = value === -128 ? mix(paper, missing, 0.5) : mix(paper, value < 0 ? negative : positive, Math.abs(value) / 127);
    pixels.data.set([...colour, 255], 4 * i);
  });
  pen.putImageData(pixels, 0, 0);
  return canvas;
}

const sampleImage = values => image(values, styleColour("--ink"), styleColour("--against"), [120, 160, 200]);

function images(explained) {
  const size = content.shape[0] * content.shape[1], all = new Int8Array(bytes(explained.images));
  const { labels, n_own_parts: nOwn } = explained;
  const shares = [...explained.shares.slice(0, nOwn), ...(labels.length > nOwn ? [null] : []), explained.residual_share];
  const parts = partNames(explained).map((name, i) => shares[i] === null ? name : `${name} (${(100 * shares[i]).toFixed(0)} %)`);
  const names = ["the sample", ...(content.has_baseline ? ["baseline"] : []), ...parts];
  const box = make("div", { class: "images" });
  names.forEach((name, i) => {
    if (i) box.append(make("span", { class: "op", "aria-hidden": "true" }, i === 1 ? "=" : "+"));
    const canvas = sampleImage(all.subarray(i * size, (i + 1) * size));
    canvas.setAttribute("aria-label", `An image: ${name}`);
    box.append(make("figure", {}, canvas, make("figcaption", {}, name)));
  });
  return [box, make("p", { class: "muted" }, `All images have one scale, up to ${number(explained.limit)}. Orange is negative, blue missing.`)];
}
