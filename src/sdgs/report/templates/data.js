// What the page knows, and small tools that all parts use. Text only ever gets into the page as text.
const content = JSON.parse(document.getElementById("content").textContent);
const byId = id => document.getElementById(id);
const n = content.data.n, k = content.data.k;

function bytes(text) {
  const raw = atob(text), found = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) found[i] = raw.charCodeAt(i);
  return found.buffer;
}

// Samples as cells: those of sample i are starts[i] to starts[i + 1], the most probable first.
const cells = new Uint16Array(bytes(content.cells.cells));
const labelOf = new (content.cells.wide ? Uint32Array : Uint16Array)(bytes(content.cells.labels));
const starts = new Uint32Array(n + 1);
new Uint32Array(bytes(content.cells.counts)).forEach((count, i) => { starts[i + 1] = starts[i] + count; });
const mistakes = new Uint32Array(bytes(content.mistakes));
const LEVEL = 1023, TRUE = 1024, PREDICTED = 2048;

function make(tag, attributes = {}, ...children) {
  const element = tag.startsWith("svg:")
    ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4)) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const percent = share => share === null ? "–" : (100 * share).toFixed(1);
const nameOf = i => content.names ? content.names[i] : `${i}`;

// For screen readers, in a place that is announced when it changes. Keys that are typed cut off what is being said: so what
// is found while somebody types is said after a pause.
const spoken = new Map();
function speak(place, text, pause = 0) {
  clearTimeout(spoken.get(place));
  place.textContent = "";
  spoken.set(place, setTimeout(() => { place.textContent = text; }, pause));
}
const TYPING = 700;  // milliseconds

// Many events, one drawing.
function inFrame(draw) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };
}

// Boxes that scroll are stops for the keyboard, which then scrolls them; others need not be.
{
  const stop = box => {
    const scrolls = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
    if (scrolls) box.setAttribute("tabindex", "0"); else box.removeAttribute("tabindex");
  };
  const watch = new ResizeObserver(entries => entries.forEach(entry => stop(entry.target.closest(".scroll"))));
  for (const box of document.querySelectorAll(".scroll")) for (const part of [box, box.firstElementChild]) watch.observe(part);
}
