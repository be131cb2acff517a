// The data of the page and helpers of all parts. Names are inserted as text, never as HTML.
const content = JSON.parse(document.getElementById("content").textContent);
const byId = id => document.getElementById(id);
const n = content.data.n, k = content.data.k;

function bytes(text) {
  const raw = atob(text), array = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) array[i] = raw.charCodeAt(i);
  return array.buffer;
}

// A cell is a sample and a label. The cells of sample i are starts[i] to starts[i + 1], largest probability first.
const cells = new Uint16Array(bytes(content.cells.cells));
const labelOf = new (content.cells.wide ? Uint32Array : Uint16Array)(bytes(content.cells.labels));
const starts = new Uint32Array(n + 1);
new Uint32Array(bytes(content.cells.counts)).forEach((count, i) => { starts[i + 1] = starts[i] + count; });
const mistakes = new Uint32Array(bytes(content.mistakes));
const STEP = 1023, TRUE = 1024, PREDICTED = 2048;  // bits of a cell

function make(tag, attributes = {}, ...children) {
  const element = tag.startsWith("svg:")
    ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4)) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const percent = share => share === null ? "–" : (100 * share).toFixed(1);
const nameOf = i => content.names ? content.names[i] : `${i}`;

// What something adds to log-odds: two decimals, and one digit of what would be 0.00.
const signed = value => {
  const size = Math.abs(value), digits = size >= 0.005 || !size ? size.toFixed(2) : `${Number(size.toPrecision(1))}`;
  return `${value < 0 ? "−" : "+"}${digits}`;
};

// Parts of a colour between two others, and a colour of the style.
const mix = (from, to, share) => from.map((part, i) => Math.round(part + share * (to[i] - part)));
function styleColour(name) {
  const digits = getComputedStyle(document.documentElement).getPropertyValue(name).trim().slice(1);
  const full = digits.length === 3 ? [...digits].map(digit => digit + digit).join("") : digits;
  return [0, 2, 4].map(i => parseInt(full.slice(i, i + 2), 16));
}

// Screen readers announce a status element when its text changes. Typing interrupts them, so results of a search are
// announced after a pause.
const timers = new Map();
function announce(status, text, pause = 0) {
  clearTimeout(timers.get(status));
  status.textContent = "";
  timers.set(status, setTimeout(() => { status.textContent = text; }, pause));
}
const TYPING_PAUSE = 700;  // milliseconds

// Draw at most once per frame, however many events there are.
function inFrame(draw) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };
}

// Only boxes that scroll can be focused, so that the keyboard can scroll them.
{
  const updateFocus = box => {
    const scrolls = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
    if (scrolls) box.setAttribute("tabindex", "0"); else box.removeAttribute("tabindex");
  };
  const watch = new ResizeObserver(entries => entries.forEach(entry => updateFocus(entry.target.closest(".scroll"))));
  for (const box of document.querySelectorAll(".scroll")) for (const part of [box, box.firstElementChild]) watch.observe(part);
}
